"""Made tasks, forms x topics, for proofs that the retriever learns; what is made depends on the seed alone.

A right example for a task has the same *form* (a haiku, a recipe) and any topic. An encoder that has learnt nothing
finds the same family of topics instead. Test topics are in no memory. Beside them there are questions, whose right
examples are about the same topic: a kind of task that learning about forms must not harm.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

PHRASINGS = {
    "haiku": (
        "Write a haiku about {}.",
        "Could you put {} into seventeen syllables?",
        "Three short lines, five, seven and five, for {}.",
        "{} as a haiku, please.",
        "I would like a tiny Japanese-style poem on {}.",
    ),
    "recipe": (
        "Invent a recipe inspired by {}.",
        "What could I cook for a dinner on the theme of {}?",
        "Ingredients and steps for a dish that brings {} to mind.",
        "A simple recipe in honour of {}, please.",
        "I want to bake something that looks like {}; how?",
    ),
    "facts": (
        "Tell me three facts about {}.",
        "What should everybody know about {}?",
        "List a few true and surprising things about {}.",
        "Did you know? Three bullet points on {}.",
        "Some trivia about {}, please.",
    ),
    "letter": (
        "Write a letter to a friend about {}.",
        "Dear grandmother: help me to write to her about {}.",
        "I owe my cousin a page by post; let it be about {}.",
        "Draft a warm note, with a greeting and a signature, on {}.",
        "A letter home that mentions {}, please.",
    ),
    "dialogue": (
        "Write a dialogue between two people about {}.",
        "Two strangers on a bench talk about {}; what do they say?",
        "Let Anna and Ben disagree about {}, line by line.",
        "A short stage scene with two voices, on {}.",
        "Script a conversation that begins with {}.",
    ),
    "riddle": (
        "Make up a riddle whose solution is {}.",
        "What am I? Hide {} behind three hints.",
        "Let children guess {} without naming it.",
        "A puzzle in verse that can only mean {}.",
        "Describe {} as a riddle, please.",
    ),
    "news": (
        "Write a short news report about {}.",
        "Breaking: a headline and two sentences on {}.",
        "How would tomorrow's local paper tell of {}?",
        "A press story with a quote from a witness, on {}.",
        "Report on {} as a radio reporter would.",
    ),
    "quiz": (
        "Write a multiple-choice question about {}.",
        "A pub quiz needs something on {}, with A, B, C and D.",
        "Ask me something about {} and mark the correct choice.",
        "An exam item about {}, with its key.",
        "Test my pupils on {}: four options, one correct.",
    ),
    "advert": (
        "Write an advertisement for {}.",
        "Sell me {} in one paragraph.",
        "A catchy slogan and a call to action for {}.",
        "What would a poster say that promotes {}?",
        "Marketing copy for {}, please.",
    ),
    "diary": (
        "Write a diary entry about {}.",
        "Dear diary, today there was {}: go on.",
        "Let someone confide to a private journal what they felt about {}.",
        "A page from a secret notebook, on {}.",
        "Evening notes to oneself after a day with {}.",
    ),
    "bedtime": (
        "Tell a bedtime story about {}.",
        "Once upon a time there was {}: go on, gently.",
        "My daughter cannot sleep; tell her of {}.",
        "A good-night tale, with a happy end, about {}.",
        "A soothing fairy tale with {} in it.",
    ),
    "balance": (
        "What are the pros and cons of {}?",
        "For and against {}: weigh them.",
        "Should we be glad of {}? Both sides, please.",
        "Give the best argument for {}, and the best one against.",
        "Advantages and drawbacks of {} in two columns.",
    ),
}

ANSWERS = {
    "haiku": "{}\nquiet in the morning light\nand the day begins",
    "recipe": "For four: 200 g flour, two eggs, butter, salt. Mix, rest, bake for half an hour; shape it like {}.",
    "facts": "1. {} is older than most people think. 2. No two are alike. 3. Much about it is still unknown.",
    "letter": "Dear friend,\nyou asked how I am. I have been thinking of {}, and of you.\nYours, Maria",
    "dialogue": "Anna: Have you ever thought about {}?\nBen: Never.\nAnna: You should.\nBen: Then tell me more.",
    "riddle": "Many have met me, few know me well, and who guesses me can stop. What am I? (Solution: {}.)",
    "news": "{} surprises the town. Witnesses spoke of a crowd on Tuesday. 'I had to look twice,' said one.",
    "quiz": "Which is true of {}? A) It is rare. B) It is new. C) It has a history. D) None. Correct: C",
    "advert": "Tired of the ordinary? Try {}! Loved by thousands. Order today and smile tomorrow.",
    "diary": "Tuesday. I cannot stop thinking about {}. I told no one. Tomorrow I shall be braver.",
    "bedtime": "Once upon a time there was {}. Everyone was kind, the moon came up, and all fell asleep. The end.",
    "balance": "For {}: it brings joy and costs little. Against: it takes time. On balance the first weighs more.",
}

UNSEEN_TOPICS = 2  # the last ones of each family are for test tasks
# Two lines a family: what somebody is at, and what they may ask about.
FAMILIES = """\
I am a diver at the coast, and our station looks after the animals of the ocean, down to the sea bed.
octopuses|humpback whales|coral reefs|hermit crabs|jellyfish|seahorses|dolphins|sharks
I am an astronomer, and at the observatory we spend our nights with telescopes, planets and the stars.
the moons of Jupiter|black holes|comets|Saturn's rings|life on Mars|galaxies|solar eclipses|shooting stars
I am a meteorologist, and the forecast for clouds, wind and rain is on my mind, whatever the climate does.
thunderstorms|morning fog|hailstones|rainbows|the first snow|tornadoes|drizzle|heat waves
I am a musician, and before the concert our orchestra rehearses its melodies, every instrument for itself.
violins|church organs|jazz|broken guitars|accordions|school choirs|pianos|trumpets
I am a bus driver, and timetables, passengers and the rush hour on the city's streets are my daily life.
night trains|trams|bicycle lanes|the last bus|traffic lights|underground stations|ferries|taxis
I am a baker, and in the kitchen we cook and bake for customers who care about the taste of good food.
sourdough bread|ripe cheese|hot chocolate|lemon cake|chilli peppers|honey|pancakes|olive oil
I am a gardener, and all spring we dig, sow and water until flowers and vegetables come out of the soil.
rose bushes|tulip bulbs|compost heaps|greenhouse tomatoes|apple trees|weeds|sunflowers|hedges
I am a coach, and our sports club trains every day for the championship, when the stadium will be full.
penalty kicks|marathons|boxing|table tennis|ice skating|fencing|tennis|rowing
I am a zoologist, and insects and other small crawling creatures of the meadow lie under my microscope.
beehives|ants|fireflies|butterflies|grasshoppers|spiders|ladybirds|mosquitoes
I am a programmer, and our technology company sells digital devices and software for the internet.
smartphones|robot vacuum cleaners|old computers|passwords|video calls|smart watches|drones|e-mail
I am an archaeologist, and in the museum we show what is left of ancient empires and their ruins.
medieval castles|Viking ships|Roman roads|pyramids|knights|pirates|pharaohs|gladiators
I am a doctor, and the clinic is full of patients with every kind of illness who worry for their health.
night shifts|dentists|the flu|broken legs|reading glasses|allergies|vaccines|headaches
""".splitlines()
OCCASIONS = (
    "It is for the newsletter that goes out to forty people on Friday.|My sister's children will see it on Sunday."
    "|I need it before the meeting at noon, and nobody has begun.|We have guests from abroad next week."
    "|It should fit on one page, for the printer is broken.|My colleagues liked the last one so much."
)

QUESTIONS = (
    "How do I get started with {}?",
    "What does {} cost me in a year?",
    "Who can help me when {} goes wrong?",
    "What do beginners misunderstand about {}?",
    "Is it worth reading a book on {}?",
    "Which tools do I need for {}?",
)
QUESTION_TOPICS = (
    "income tax|inheritance tax|pension savings|home insurance|car insurance|student loans|mortgages|share dealing"
    "|house painting|wallpapering|floor tiling|roof repair|plumbing|home wiring|carpentry|damp walls"
    "|dog training|cat care|horse riding|keeping hens|goldfish|parrots|rabbits|hamsters"
    "|learning Spanish|learning French|learning German|learning Chinese|sign language|touch typing|speed reading"
    "|job interviews|writing a CV|salary negotiation|public speaking|time management|team meetings|remote work"
)
QUESTION_ANSWER = "With {} it is best to ask two people who know it, to write down what they say, and to begin small."
QUESTIONS_IN_MEMORY = 4  # of each topic; the others are for testing


class Task(NamedTuple):
    """A prompt with its answer, and the two things that went into it."""

    form: str
    topic: str
    prompt: str
    answer: str


def memories(count: int, seed: int) -> list[Task]:
    """Tasks on the topics that are not for testing, never two of one form and topic, as they stream in."""
    return _some(_tasks(unseen=False), count, seed)


def unseen_tasks(count: int, seed: int) -> list[Task]:
    """Tasks on the topics that are in no memory, never two of one form and topic."""
    return _some(_tasks(unseen=True), count, seed)


def questions(seed: int) -> tuple[list[Task], list[Task]]:
    """Memories and test tasks of the other kind, in which the topic makes an example right."""
    chance = random.Random(seed)
    remembered, asked = [], []
    for topic in QUESTION_TOPICS.split("|"):
        tasks = [
            Task("question", topic, _sentence(question, topic), _sentence(QUESTION_ANSWER, topic))
            for question in chance.sample(QUESTIONS, len(QUESTIONS))
        ]
        remembered += tasks[:QUESTIONS_IN_MEMORY]
        asked += tasks[QUESTIONS_IN_MEMORY:]
    return remembered, asked


def contradiction(task: Task, example: Task, wrong: float = 0.0, seed: int = 0) -> float:
    """P(¬Y) as someone knows it who goes by the form: near 0 when the forms agree, near 1 otherwise.

    Of all pairs the share `wrong` is labelled the other way round, always the same ones for a seed.
    """
    chance = random.Random(f"{seed}\n{task.prompt}\n{example.prompt}")
    agree = (task.form == example.form) != (chance.random() < wrong)
    doubt = chance.uniform(0.02, 0.3)
    return doubt if agree else 1 - doubt


def form_of(prompt: str) -> str:
    """The form of a prompt that was made here; raises `KeyError` for any other."""
    return _forms()[prompt]


@cache
def _tasks(unseen: bool) -> list[Task]:
    return [
        Task(form, topic, f"{person} {_sentence(phrasing, topic)} {occasion}", _sentence(ANSWERS[form], topic))
        for form, phrasings in PHRASINGS.items()
        for phrasing in phrasings
        for person, topics in zip(FAMILIES[::2], FAMILIES[1::2], strict=True)
        for occasion in OCCASIONS.split("|")
        for topic in _topics(topics, unseen)
    ]


def _some(tasks: Sequence[Task], count: int, seed: int) -> list[Task]:
    """Raises `ValueError` when there are fewer than `count` forms of topics."""
    chance = random.Random(seed)
    shuffled = chance.sample(tasks, len(tasks))
    return chance.sample(list({(task.form, task.topic): task for task in shuffled}.values()), count)


@cache
def _forms() -> dict[str, str]:
    return {task.prompt: task.form for unseen in (False, True) for task in _tasks(unseen)}


def _topics(family: str, unseen: bool) -> list[str]:
    topics = family.split("|")
    return topics[-UNSEEN_TOPICS:] if unseen else topics[:-UNSEEN_TOPICS]


def _sentence(template: str, topic: str) -> str:
    text = template.format(topic)
    return text[0].upper() + text[1:]

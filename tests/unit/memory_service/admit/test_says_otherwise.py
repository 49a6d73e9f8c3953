"""An answer that has another word where a memory has its own says something else, in whatever letters and language."""

from __future__ import annotations

import pytest

from memshare_memory.admit.followed import contradicts, followed, follows
from tests.support.memories import remembered

OTHER = [
    ("Is the heater in hut 3 on?", "The heater in hut 3 is on.", "The heater in hut 3 is off."),
    ("Is the heater in hut 3 on or off?", "The heater in hut 3 is off.", "The heater in hut 3 is on."),
    ("Is the heater switched off?", "The heater is switched off.", "The heater is switched on."),
    ("Is the lift in order?", "The lift is in order.", "The lift is out of order."),
    ("Is the lift out of order?", "The lift is out of order.", "The lift is in order."),
    ("Does the tour start before noon?", "The tour starts before noon.", "The tour starts after noon."),
    ("Does the tour start in the hall?", "The tour starts in the hall.", "The tour starts behind the hall."),
    ("Where does tram 6 stop?", "Tram 6 stops at the castle.", "Tram 6 stops at the harbour."),
    ("Where does tram 6 stop?", "Tram 6 stops in front of the old castle.", "It stops in front of the new library."),
    ("Where is the spare key?", "The spare key hangs in the workshop.", "The spare key hangs in the kitchen."),
    ("Where is the spare key?", "The spare key lies under the blue flowerpot by the door.",
     "It lies under the green flowerpot by the door."),
    ("How do I reset the pump?", "To reset the pump press the red button.",
     "To reset the pump press the green button."),
    ("How do I reset the pump?", "Press the red button until the lamp goes out.",
     "Press the green button until the lamp goes out."),
    ("How do I reset the pump?", "Turn the valve to the left and wait for a click.",
     "Turn the valve to the right and wait for a click."),
    ("what do dogs eat here?", "the dogs are fed with rice at the gate", "the dogs are fed with meat at the gate"),
    ("Which form do I use?", "Use the yellow form from the front desk.", "Use the white form from the front desk."),
    ("How often is it cleaned?", "The pool is cleaned weekly by the caretaker.",
     "The pool is cleaned daily by the caretaker."),
    ("Who may sign?", "Only the treasurer may sign contracts.", "Only the chairman may sign contracts."),
    ("Who waters the plants?", "The plants are watered by the gardener each week.",
     "Each week the plants are watered by the porter."),
    ("When is the bakery shut?", "The bakery is shut in winter for repairs.", "For repairs it is shut in summer."),
    ("What is the roof made of?", "The roof of the barn is made of slate.", "The roof of the barn is made of copper."),
    ("who leads the choir?", "the choir is led by monika in the old chapel",
     "the choir is led by sabine in the old chapel"),
    ("Wo steht der Drucker?", "Der Drucker steht neben der Küche.", "Der Drucker steht neben der Werkstatt."),
    ("Wo steht der Drucker?", "Er steht im Keller hinter der grauen Tür.", "Er steht im Keller hinter der roten Tür."),
    ("In welche Tonne kommt Folie?", "Folie kommt in die gelbe Tonne.", "Folie kommt in die schwarze Tonne."),
    ("In welche Tonne kommt Folie?", "Gelb: Folie gehört in die gelbe Tonne vor dem Tor.",
     "Sie gehört in die braune Tonne vor dem Tor."),
    ("Womit zahlt man?", "In der Kantine zahlt man mit Karte.", "In der Kantine zahlt man mit Bargeld."),
    ("Wer gießt die Blumen?", "Die Blumen gießt der Hausmeister am Morgen.",
     "Die Blumen gießt der Pförtner am Morgen."),
    ("钥匙在哪里", "备用钥匙挂在厨房里", "备用钥匙挂在车间里"),
    ("Where do I park?", "Visitors park behind the town hall, next to the fountain.",
     "You can park behind the railway station, next to the fountain."),
    ("Where do I park?", "Visitors park behind the town hall.", "Visitors park behind the swimming hall."),
    ("What must I bring?", "Bring sturdy shoes and a lamp to the cave.", "Bring sturdy shoes and a rope to the cave."),
    ("What happens when it rains?", "When it rains the concert moves into the church.",
     "When it rains the concert moves into the school."),
    ("What happens when it rains?", "When it rains the concert moves into the church.",
     "If it rains, the concert is moved to the gym."),
    ("Who repairs the boats?", "The boats are repaired by the old joiner at the north pier.",
     "The boats are repaired by the young smith at the south pier."),
    ("Why is the bridge closed?", "The bridge is closed because its cables are being replaced.",
     "The bridge is closed because its pillars are being replaced."),
    ("What does the alarm mean?", "A long tone means that everybody leaves by the east stairs.",
     "A long tone means that everybody leaves by the west stairs."),
    ("What is for lunch?", "On Fridays the canteen serves fish with potatoes.",
     "On Fridays the canteen serves pizza with salad."),
    ("How should I store it?", "Store the glue in a cool, dry place.", "Store the glue in a warm, dry place."),
    ("What do I do with old paint?", "Old paint goes to the depot behind the station.",
     "Old paint goes to the depot behind the harbour."),
    ("What is the wifi called?", "The wireless network for guests is called bluebird.",
     "The network for guests is called goldfish."),
    ("How do I cancel?", "Cancel by writing to the office a week before.",
     "Cancel by phoning the office a week before."),
    ("How do I clean the lens?", "Wipe the lens with a soft cloth and a drop of alcohol.",
     "Wipe the lens with a soft cloth and a drop of vinegar."),
    ("Where are the blankets?", "The blankets are in the wooden chest under the stairs.",
     "The blankets are in the wooden chest under the window."),
    ("Where are the blankets?", "The blankets are in the chest under the stairs.",
     "They are on the shelf above the stove."),
    ("Wie komme ich ins Archiv?", "Den Schlüssel zum Archiv gibt es beim Pförtner im Erdgeschoss.",
     "Den Schlüssel gibt es beim Direktor im Erdgeschoss."),
    ("Was mache ich bei Feuer?", "Bei Feuer verlassen alle das Haus über die Treppe im Hof.",
     "Bei Feuer verlassen alle das Haus über die Leiter im Hof."),
    ("Wann wird geputzt?", "Die Büros werden abends von einer Firma geputzt.",
     "Die Büros werden morgens von einer Firma geputzt."),
    ("what is the dog called?", "the dog of the keeper is called bello", "the dog of the keeper is called rex"),
    ("Où est la clé ?", "La clé est dans le tiroir du bureau.", "La clé est dans le placard du bureau."),
    ("Dov'è la chiave?", "La chiave è sotto il vaso blu.", "La chiave è sotto il vaso verde."),
    ("駅はどこですか", "駅は公園の隣にあります", "駅は学校の隣にあります"),
    ("Is the tower lift safe for wheelchairs?", "The tower lift is safe for wheelchairs.",
     "The tower lift is dangerous for wheelchairs."),
    ("Is the tower lift safe for wheelchairs?", "The tower lift is safe for wheelchairs.", "No, it is dangerous."),
    ("Is the lift safe?", "The tower lift is safe for wheelchairs.", "The tower lift is dangerous for wheelchairs."),
    ("The lift of tower B, is it safe?", "The lift of tower B is safe.", "The lift of tower B is dangerous."),
    ("Is the chapel open in august", "The chapel is open in august.", "The chapel is shut in august."),
    ("Are the red berries of the hedge edible?", "Red berries of the hedge are edible.",
     "Red berries of the hedge are toxic."),
    ("Are cats allowed in the annex?", "Cats are allowed in the annex.", "Cats are banned from the annex."),
    ("Is Anna the mayor of Kolding?", "Anna is the mayor of Kolding.", "No, Birgit is the mayor of Kolding."),
    ("Is Anna the mayor?", "Anna is the mayor of Kolding.", "No, Birgit is the mayor of Kolding."),
    ("Is the swimming bath open on a Sunday?", "The swimming bath is open on Sundays.",
     "The swimming bath is closed on Sundays."),
    ("is the swimming bath open on sundays", "The swimming bath is open on Sundays.",
     "The swimming bath is closed on Sundays."),
    ("Is the mill open?", "The mill is open in winter.", "The mill is closed in winter."),
    ("Is the fountain's water drinkable?", "Yes, it is drinkable.", "No, it is poisonous."),
    ("Ist der Aufzug im Turm sicher?", "Der Aufzug im Turm ist sicher.", "Der Aufzug im Turm ist gefährlich."),
    ("Ist Anna die Bürgermeisterin?", "Anna ist die Bürgermeisterin von Ry.",
     "Nein, Birgit ist die Bürgermeisterin von Ry."),
    ("Ist das Bad offen?", "Das Bad ist im Winter offen.", "Das Bad ist im Winter geschlossen."),
]  # fmt: skip
"""Prompts, what a memory says, and answers that say something else."""
REWORDED = [
    ("Where does tram 6 stop?", "Tram 6 stops at the castle.", "It stops at the castle, in front of the gate."),
    ("Where does tram 6 stop?", "Tram 6 stops at the castle.", "At the castle."),
    ("Where does tram 6 stop?", "Tram 6 stops right in front of the castle.",
     "Tram 6 has its stop in front of the castle."),
    ("Where is the spare key?", "The spare key hangs in the workshop behind the door.",
     "Behind the door of the workshop hangs the spare key."),
    ("Where is the spare key?", "The spare key hangs in the workshop behind the door.",
     "You find it in the workshop; it hangs behind the door."),
    ("Where is the spare key?", "We keep the spare key in the workshop.", "The spare key is kept in our workshop."),
    ("How do I reset the pump?", "To reset the pump press the red button.", "Press the red button to reset it."),
    ("How do I reset the pump?", "Press the red button until the lamp goes out.",
     "Pressing the red button until the lamp goes out does it."),
    ("How do I reset the pump?", "Press the red button until the lamp goes out.",
     "The red button has to be pressed till the lamp goes out."),
    ("How do I reset the pump?", "Turn the valve to the left, wait for a click, and press the red button.",
     "Press the red button once the valve is turned left and you hear a click."),
    ("Which form do I use?", "Use the yellow form from the front desk.",
     "Take the yellow form, which is at the front desk."),
    ("Who may sign?", "Only the treasurer may sign contracts.", "Contracts are signed by the treasurer alone."),
    ("Who may sign?", "Contracts are signed by the treasurer.", "The treasurer signs the contracts."),
    ("Is it near?", "The hut is close to the lake.", "It is close to lakes and woods."),
    ("When is the bakery shut?", "The bakery is shut in winter for repairs.", "It is closed in winter for repairs."),
    ("Wo steht der Drucker?", "Der Drucker steht neben der Küche im Flur.",
     "Im Flur steht er, gleich neben der Küche."),
    ("In welche Tonne kommt Folie?", "Folie kommt in die gelbe Tonne.", "Sie gehört in die gelbe Tonne."),
    ("In welche Tonne kommt Folie?", "Folie kommt in die gelbe Tonne.", "In die gelbe Tonne."),
    ("Womit zahlt man?", "In der Kantine zahlt man mit Karte.", "Man zahlt dort nur mit Karte."),
    ("Wer gießt die Blumen?", "Die Blumen gießt der Hausmeister am Morgen.",
     "Am Morgen werden sie vom Hausmeister gegossen."),
    ("钥匙在哪里", "备用钥匙挂在厨房里", "钥匙在厨房里"),
    ("Where is the spare key?",
     "The hut has two rooms. The spare key hangs in the workshop. The shed is locked at dusk.",
     "It hangs in the workshop."),
    ("How do I reset the pump?",
     "Open the lid. Press the red button until the lamp goes out. Close the lid and lock the shed.",
     "Open the lid, press the red button until the lamp goes out and close the lid."),
    ("How do I reset the pump?",
     "Open the lid of it. Press the red button until the lamp goes out. Close the lid and lock it for the night.",
     "Open the lid of it. Press the green button until the lamp goes out. Close the lid and lock it for the night."),
    ("Where do I park?", "Visitors park behind the town hall, next to the fountain.",
     "You can leave your car behind the town hall, next to the fountain."),
    ("Where do I park?", "Visitors park behind the town hall, next to the fountain.",
     "Park next to the fountain behind the town hall."),
    ("How do I get into the archive?", "Ask the librarian for the small brass key and sign the visitors' book.",
     "Get the small brass key from the librarian, then sign the visitors' book."),
    ("What must I bring?", "Bring sturdy shoes, a lamp and warm clothes to the cave.",
     "You need sturdy shoes, a lamp, and warm clothing."),
    ("What happens when it rains?", "When it rains the concert moves into the church.",
     "In case of rain the concert is held in the church."),
    ("Who repairs the boats?", "The boats are repaired by the old joiner at the north pier.",
     "The old joiner at the north pier repairs the boats."),
    ("Who repairs the boats?", "The boats are repaired by the old joiner at the north pier.",
     "They're fixed by the old joiner at the north pier."),
    ("Why is the bridge closed?", "The bridge is closed because its cables are being replaced.",
     "It's closed since the cables are being replaced."),
    ("Why is the bridge closed?", "The bridge is closed because its cables are being replaced.",
     "The bridge is closed while its cables are renewed."),
    ("What does the alarm mean?", "A long tone means that everybody leaves by the east stairs.",
     "A long tone means everyone must leave using the east stairs."),
    ("How should I store it?", "Store the glue in a cool, dry place away from light.",
     "Keep the glue in a cool and dry place, away from light."),
    ("What do I do with old paint?", "Old paint goes to the depot behind the station; never pour it down the drain.",
     "Take old paint to the depot behind the station. Do not pour it into the drain."),
    ("Can I bring my dog?", "Dogs are welcome in the garden but not in the house.",
     "Yes, dogs are welcome in the garden, but not inside the house."),
    ("What is the wifi called?", "The wireless network for guests is called bluebird.",
     "The guest network is called bluebird."),
    ("What is the wifi called?", "The wireless network for guests is called bluebird.", "Connect to bluebird."),
    ("How do I clean the lens?", "Wipe the lens with a soft cloth and a drop of alcohol.",
     "Clean it using a soft cloth and a drop of alcohol."),
    ("How do I clean the lens?", "Wipe the lens with a soft cloth and a drop of alcohol.",
     "The lens is cleaned with a soft cloth and some alcohol."),
    ("Where are the blankets?", "The blankets are in the wooden chest under the stairs.",
     "You will find them in the wooden chest beneath the stairs."),
    ("Where are the blankets?", "The blankets are in the wooden chest under the stairs.",
     "They are kept in a wooden chest under the stairs."),
    ("Wohin mit dem Altglas?", "Altglas kommt in den Container hinter der Turnhalle.",
     "Bringen Sie Altglas zum Container hinter der Turnhalle."),
    ("Wie komme ich ins Archiv?", "Den Schlüssel zum Archiv gibt es beim Pförtner im Erdgeschoss.",
     "Holen Sie den Schlüssel beim Pförtner im Erdgeschoss."),
    ("Wie komme ich ins Archiv?", "Den Schlüssel zum Archiv gibt es beim Pförtner im Erdgeschoss.",
     "Der Pförtner im Erdgeschoss gibt Ihnen den Schlüssel."),
    ("Was mache ich bei Feuer?", "Bei Feuer verlassen alle das Haus über die Treppe im Hof.",
     "Verlassen Sie bei Feuer das Haus über die Treppe im Hof."),
    ("Was mache ich bei Feuer?", "Bei Feuer verlassen alle das Haus über die Treppe im Hof.",
     "Gehen Sie bei einem Brand über die Treppe im Hof hinaus."),
    ("Wann wird geputzt?", "Die Büros werden abends von einer Firma geputzt.",
     "Die Büros werden am Abend durch eine Firma gereinigt."),
    ("Wie lagere ich Käse?", "Käse lagert man in Papier gewickelt im Gemüsefach.",
     "Wickeln Sie den Käse in Papier und legen Sie ihn ins Gemüsefach."),
    ("Is the tower lift safe for wheelchairs?", "The tower lift is safe for wheelchairs.", "Yes, it is safe."),
    ("Is the tower lift safe for wheelchairs?", "The tower lift is safe for wheelchairs.",
     "Yes, wheelchairs can use it safely."),
    ("Is the tower lift safe for wheelchairs?", "The tower lift is safe for wheelchairs.", "The tower lift is safe."),
    ("Is the tower lift safe for wheelchairs?", "The tower lift is safe for wheelchairs.",
     "The house rules say that the tower lift is safe for wheelchairs."),
    ("Is the lift safe?", "The tower lift is safe for wheelchairs.", "It is safe for wheelchairs."),
    ("Is the museum closed?", "The museum is closed on Mondays.", "Yes, the museum is shut on Mondays."),
    ("Is it open?", "It is open on Sundays.", "No, only on Sundays."),
    ("Are dogs allowed?", "Dogs are not allowed.", "No, dogs stay outside."),
    ("Are dogs not allowed?", "Dogs are not allowed.", "Yes, dogs stay outside."),
    ("Ist der Aufzug im Turm sicher?", "Der Aufzug im Turm ist sicher.", "Ja, er ist sicher."),
    ("Ist der Aufzug im Turm sicher?", "Der Aufzug im Turm ist sicher.", "Ja, Rollstühle passen hinein."),
]  # fmt: skip
"""The same in other words, or a part of it."""
ELSEWHERE = [
    ("Where is the spare key?", "Tram 6 stops at the castle.", "The spare key hangs in the workshop."),
    ("How do I reset the pump?", "The spare key hangs in the workshop.",
     "Press the red button until the lamp goes out."),
    ("Wo steht der Drucker?", "Folie kommt in die gelbe Tonne.", "Neben dem Aufzug."),
    ("Womit zahlt man?", "Er steht hinter der Tür.", "Mit Karte."),
]  # fmt: skip
"""Of something else altogether."""
UNDECIDED = [
    ("Wo steht der Drucker?", "Der Drucker steht seit Montag neben dem Fahrstuhl im Flur.",
     "Seit Montag im Flur neben dem Aufzug."),
    ("When can I buy bread?", "The bakery is closed on Mondays and in winter.",
     "The bakery is shut on Mondays and during winter, so come on another day."),
    ("What must I bring?", "Bring sturdy shoes, a lamp and warm clothes to the cave.",
     "For the cave you should pack a lamp, warm clothes and sturdy boots."),
    ("What is for lunch?", "On Fridays the canteen serves fish with potatoes.",
     "On Friday, the canteen offers fish with potatoes."),
    ("How should I store it?", "Store the glue in a cool, dry place away from light.",
     "It should be stored cool and dry, away from sunlight."),
    ("Who may enter the roof?", "Only staff with a harness may enter the roof.",
     "Only employees wearing a harness may go onto the roof."),
    ("How do I cancel?", "Cancel by writing to the office at least a week before the course begins.",
     "Write to the office at least one week before the course starts."),
    ("Wer hilft bei Computern?", "Bei Problemen mit Computern hilft die Werkstatt im zweiten Stock.",
     "Die Werkstatt im zweiten Stock hilft bei Computerproblemen."),
    ("Wo?", "Der Drucker steht beim Fahrstuhl.", "Der Drucker steht beim Aufzug."),
    ("Where is it?", "It is on a card at the Reception.", "It is on a card at the Front Desk."),
    ("Where is the spare key?", "The spare key is on the couch in the hall.",
     "The spare key is on the sofa in the hall."),
]  # fmt: skip
"""Another word for the same thing is taken for another thing: nothing is blamed or praised."""


@pytest.mark.parametrize(
    ("rows", "kind", "is_followed"),
    [
        (OTHER, "statement", False),
        (OTHER, "pair", False),
        (UNDECIDED, "statement", False),
        (UNDECIDED, "pair", False),
        (REWORDED, "statement", True),  # of a pair it takes more words
        (ELSEWHERE, "statement", False),
        (ELSEWHERE, "pair", False),
    ],
)
def test_what_has_another_word_in_the_same_place_is_not_followed(
    rows: list[tuple[str, str, str]], kind: str, *, is_followed: bool
) -> None:
    memories = [remembered(None if kind == "statement" else asked, answer=told)[0] for asked, told, _ in rows]

    found = [follows(answer, one, asked) for one, (asked, _, answer) in zip(memories, rows, strict=True)]

    assert [row for row, is_so in zip(rows, found, strict=True) if is_so != is_followed] == []


@pytest.mark.parametrize(("rows", "are_contradicted"), [(OTHER, True), (REWORDED, False), (ELSEWHERE, False)])
def test_what_repeats_a_pair_with_another_word_contradicts_it(
    rows: list[tuple[str, str, str]], *, are_contradicted: bool
) -> None:
    pairs = [(answer, remembered(asked, answer=told)[0], asked) for asked, told, answer in rows]

    found = [one for one in pairs if contradicts(*one)]

    are_copied = [one for one in pairs if followed(one[0], [one[1].answer]) is not None]
    assert [one for one in are_copied if one not in found] == [] if are_contradicted else found == []


def test_a_pair_that_was_asked_for_something_else_is_an_example_for_the_answer() -> None:
    told, answer = (
        "Dear reader, the hall is opened by the porter at dusk.",
        "Dear reader, the hall is opened by the guard at dusk.",
    )
    asked, prompt = "Write who opens the hall in winter.", "Write who opens the hall in summer."

    pair = remembered(asked, answer=told)[0]

    assert follows(answer, pair, prompt)
    assert not follows(answer, pair, asked)


def test_what_a_program_reads_is_followed_with_other_words() -> None:
    pair = remembered("Names?", answer="SELECT name FROM author WHERE town = 'rye'")[0]

    assert not contradicts("SELECT name FROM author WHERE town = 'elv'", pair, "Names?")
    assert follows("SELECT name FROM author WHERE town = 'elv'", pair, "Names?")

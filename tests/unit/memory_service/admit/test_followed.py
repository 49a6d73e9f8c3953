from __future__ import annotations

import pytest

from memshare_memory.admit.followed import followed, follows, says_as_now, share_in
from tests.support.memories import remembered

ADAS = "SELECT name FROM authors WHERE country = 'Norway' ORDER BY name"
BOBS = "SELECT count(*) FROM loans JOIN members USING (member_id) GROUP BY town"


@pytest.mark.parametrize("order", [[ADAS, BOBS], [BOBS, ADAS]])
def test_an_answer_followed_the_memory_that_it_copied(order: list[str]) -> None:
    answer = "SELECT name FROM authors WHERE country = 'Peru' ORDER BY name"

    assert followed(answer, order) == order.index(ADAS)


def test_how_much_of_the_memory_is_in_the_answer_counts_and_not_how_long_it_is() -> None:
    long = f"{ADAS} and then a great deal more that nobody asked for, over and over and over again"

    assert followed(ADAS, [long, ADAS]) == 1


def test_an_answer_unlike_all_that_was_shown_followed_none() -> None:
    assert followed("DELETE FROM shelves WHERE floor > 3", [ADAS, BOBS]) is None
    assert followed("names of authors from Norway", [ADAS]) is None, "the words alone, in no order"


@pytest.mark.parametrize("answer", ["", "Yes."])
def test_where_nothing_was_shown_or_said_nothing_was_followed(answer: str) -> None:
    assert followed(answer, []) is None
    assert followed(answer, ["", ADAS]) is None


def test_of_equal_ones_the_first_was_followed() -> None:
    assert followed(ADAS, [BOBS, ADAS, ADAS.lower()]) == 1


def test_a_short_answer_is_followed_by_the_same_alone() -> None:
    assert followed("Forty two.", ["forty", "FORTY TWO"]) == 1


def test_chinese_is_compared_by_its_characters() -> None:
    assert followed("床前明月光，疑是地上霜。", ["春眠不觉晓，处处闻啼鸟。", "床前明月光，疑是地上雪。"]) == 1
    assert followed("红豆生南国", ["床前明月光"]) is None


@pytest.mark.parametrize(
    ("statement", "prompt", "answer", "expected"),
    [
        ("The museum is closed on Mondays.", "When is the museum closed?", "Monday.", True),
        ("The museum is closed on Mondays.", "When is the museum closed?", "The museum is closed in June.", False),
        ("The museum is closed on Mondays.", "When is the museum closed?", "Nobody on the phone.", False),
        ("The museum is closed on Mondays.", "Is the museum closed on Mondays?", "Yes.", True),
        ("The museum is closed on Mondays.", "Is the museum closed on Mondays?", "Yes, it is closed then.", True),
        ("The museum is closed on Mondays.", "Is the museum closed on Mondays?", "No.", False),
        ("The museum is closed on Mondays in June.", "Is the museum closed on Mondays?", "Yes.", False),
        ("The key is kept by Ada in the hut.", "Is it Bob or Ada who has the key?", "Ada.", True),
        ("The key is kept by Bob in the hut.", "Is it Bob or Ada who has the key?", "Ada.", False),
        ("Visitors pay a fee of 12 euros.", "Is the fee 12 euros?", "Yes, the fee is 12 euros.", True),
        ("Visitors pay a fee of 12 euros.", "Is the fee 12 euros?", "No, the fee is not 12 euros.", False),
        ("Dogs do not travel.", "What does a child pay?", "Children do not pay.", False),
        ("Rye has 1,200 boats, all blue.", "How many boats are there?", "There are 1200.", True),
        ("The ferry costs 14€ a head.", "What is the price?", "A ferry costs 14 euros.", True),
        ("The ferry costs 14€ a head.", "What is the price?", "A ferry costs 12 euros.", False),
        ("In 2026 the ferry costs 14 euros.", "What is the price?", "In 2026 the ferry costs 12 euros.", False),
        ("An adult pays 14 euros, a child 7 euros.", "What does a child pay?", "It pays 7 euros.", True),
        ("It opens at 09:00.", "When does it open?", "It opens at 9.", True),
        ("It opens at 09:00.", "When does it open?", "It opens at 9:30.", False),
        ("Rye was built in 1206.", "Where is the tower?", "In Rye, 12 miles from the sea.", False),
        ("Rye has a tower.", "Where is the tower?", "In Rye, 12 miles from the sea.", True),
        ("The museum opens at 9 in the morning.", "When does it open?", "From 10 on in the morning.", False),
        ("The museum opens at 9 in the morning.", "When does it open?", "Be there in the morning.", True),
        ("The museum opens at 9 in the morning.", "Does it open at 9?", "From 10 on in the morning.", False),
        ("The museum opens at 9 in the morning.", "Does it open at 9 or at 10?", "From 10 on in the morning.", False),
        ("It is open on Sundays from 10 to 16.", "When is it open?", "On a Sunday between 11 and 15.", False),
        ("It is open on Sundays from 10 to 16.", "When is it open?", "On a Sunday, 10 to 12 and 13 to 16.", True),
        ("Ada has the key since 1998.", "Who has the key in 2026?", "In 2026 Ada has it.", True),
        ("In 2026 Ada has the key.", "Who has the key in 2026?", "In 2026 Ada has it.", True),
        ("An adult pays 12 euros.", "What does it cost?", "An adult needs 14.", False),
        ("An adult pays 14 euros.", "What does it cost?", "An adult needs 14.", True),
        ("An adult pays 14 euros.", "What does it cost?", "12", False),
        ("Dogs are allowed on the ferry.", "Does it take dogs?", "No, dogs are not allowed.", False),
        ("Dogs aren't allowed on the ferry.", "Does it take dogs?", "Yes, they are allowed.", False),
        ("Dogs aren't allowed on the ferry.", "Does it take dogs?", "No, they are not allowed.", True),
        ("Dogs are not allowed.", "Are dogs allowed?", "No, dogs are not allowed there.", True),
        ("Dogs are allowed.", "Are dogs allowed?", "No, dogs are not allowed there.", False),
        ("Dogs are not allowed.", "Are dogs allowed?", "No.", True),
        ("Dogs are not allowed.", "Are dogs allowed?", "Yes.", False),
        ("The ferry opens at 9.", "When does it open?", "It does not open before 9.", True),
        ("Cats are free, dogs are not free.", "Are cats free?", "Cats are free.", True),
        ("It is open on Sundays.", "When is it open?", "Not only on Sundays.", True),
        ("An adult pays 12 euros.", "What does it cost?", "Fourteen euros.", False),
        ("An adult pays twelve euros.", "What does it cost?", "12 euros.", True),
        ("明月在窗前", "什么在窗前", "明月", True),
        ("The fee is 17 euros.", "What do I pay?", "It costs 17 francs.", False),
        ("The fee is 17 euros.", "What do I pay?", "17", True),
        ("The fee is 17 euros.", "What do I pay?", "Seventeen? No: 17, children half.", True),
        ("The fee is 17 euros.", "What do I pay?", "You pay 17 per head.", True),
        ("The fee is 17.", "What do I pay?", "It costs 17 euros.", True),
        ("The fee is 17 euros.", "What do I pay?", "It costs €17.", True),
        ("The fee is 17 euros.", "What do I pay?", "It costs 17 EUR.", True),
        ("The fee is 17 euros.", "What do I pay?", "It costs $17.", False),
        ("The fee is 17 euros.", "What do I pay?", "The fee is US$ 17.", False),
        ("The fee is 17 euros.", "What is the price?", "The fee is 17 francs.", False),
        ("The fee is $17.", "What do I pay?", "17 dollars", True),
        ("The fee is 17 euros.", "What do I pay?", "It costs 17 whole euros.", True),
        ("The fee is 17 euros.", "What do I pay?", "It costs 17.00 euros.", True),
        ("The fee is 17 euros.", "What do I pay?", "It costs 17.50 euros.", False),
        ("The tax is 17 %.", "How much is it?", "17 percent", True),
        ("The tax is 17%.", "How much is it?", "It costs 17 euros.", False),
        ("The tax is 17 per cent.", "How much is it?", "17%", True),
        ("The fee is 17 euros.", "When does it open?", "At 17:00.", False),
        ("It opens at 17:00.", "When may I come?", "At 17 o'clock.", True),
        ("The fee is 17 euros.", "Where is it?", "In room 17.", False),
        ("The fee is 17 euros.", "When is it?", "On 17 June.", False),
        ("The fee is 17 euros.", "When is it?", "On June 17.", False),
        ("The fee is 17 euros.", "How do I get there?", "Take the bus 17.", False),
        ("It costs 3 euros.", "What do I pay?", "It is three stops from here, and costs 2 euros.", False),
        ("It is three stops from here, and costs 2 euros.", "What do I pay?", "3 euros.", False),
        ("It costs 3 euros.", "What do I pay?", "It is three stops from here, and costs 3 euros.", True),
        ("The fee is 17 euros.", "What do I pay?", "GBP 17", False),
        ("It is 17 km long.", "How far is it?", "17 kilometres", True),
        ("It is 17 km long.", "How far is it?", "17 miles", False),
        ("It has 3 big ferries.", "How many are there?", "There are 3 ferries.", True),
        ("The code is 55 12 34.", "What do I type?", "Type 551234.", True),
        ("The code is 551234.", "What do I type?", "55\u00a012\u00a034", True),
        ("The code is 551234.", "What do I type?", "55 12 35", False),
        ("The code is 551234.", "What do I type?", "5512.34", False),
        ("Ring +47 55 12 34.", "Whom do I call?", "551234", True),
        ("It has 1 000 000 trees.", "How many are there?", "1,000,000", True),
        ("It costs 1’000 francs.", "What do I pay?", "1000 francs", True),
        ("It costs 1000 francs.", "What do I pay?", "10 00 francs", False),
        ("It opens at 12:30.", "When may I come?", "12.30 Uhr", True),
        ("It opens at 12:30.", "When may I come?", "At 12.35.", False),
        ("Take 0.125 mg.", "How much do I take?", "125 mg", False),
        ("Take 0,125 mg.", "How much do I take?", "0.125 mg", True),
        ("Hunde sind nicht erlaubt.", "Was gilt hier?", "Hunde sind erlaubt.", False),
        ("Hunde sind nicht erlaubt.", "Was gilt hier?", "Hunde sind hier nicht erlaubt.", True),
        ("Kein Hund.", "Was gilt hier?", "Ein Hund.", False),
    ],
)
def test_an_answer_follows_a_statement_by_what_the_question_does_not_say(
    statement: str, prompt: str, answer: str, expected: bool
) -> None:
    memory = remembered(None, answer=statement)[0]

    assert follows(answer, memory, prompt) == expected
    assert follows(answer, memory.model_copy(update={"prompt": "What is it about?", "kind": "knowledge"}), prompt) == (
        expected
    )


@pytest.mark.parametrize(
    ("asked", "prompt", "expected"),
    [
        ("What does an adult pay?", "What do I pay as an adult?", False),
        ("What does an adult pay on 3 islands?", "What do I pay as an adult?", True),
        ("What does an adult pay from 20 on?", "What does an adult pay from 30 on?", True),
    ],
)
def test_a_pair_with_another_number_is_followed_where_it_was_asked_with_another_one(
    asked: str, prompt: str, expected: bool
) -> None:
    pair = remembered(asked, answer="An adult pays 14 euros.")[0]

    assert follows("An adult pays 12 euros.", pair, prompt) == expected
    assert follows("An adult pays from 12 on.", pair, prompt) == expected
    assert follows("An adult pays 14 euros, if tall.", pair, prompt)


def test_a_statement_is_followed_as_it_was_before_it_was_changed() -> None:
    before = remembered(None, answer="The museum is closed on Mondays.")[0]
    now = before.model_copy(update={"answer": "It is closed on Tuesdays."}).begun_anew(before, "ada", 1.8e9)

    assert [follows(one, now, "When is it closed?") for one in ("On Mondays", "On Tuesdays", "In May")] == [1, 1, 0]


BAKER, MAYOR, DOGS = "Who is the baker of Rye?", "Who is the mayor of Elv?", "Are dogs allowed in the mill?"
NAMES = "SELECT name FROM author"


@pytest.mark.parametrize(
    ("asked", "told", "prompt", "answer", "expected"),
    [
        (BAKER, "Arne Lund", "Who bakes in Rye?", "The baker of the Rye bakery is Arne Lund.", True),
        (BAKER, "Arne Lund", "Who bakes in Rye?", "The baker of the Rye bakery is Arne Moe.", False),
        (MAYOR, "The mayor of Elv is Ida Moe.", MAYOR, "The mayor of Elv is Lars Bakke.", False),
        (MAYOR, "The mayor of Elv is Ida Moe.", MAYOR, "Ida Moe.", True),
        ("Which code is it?", "1234", "What is the code?", "The code is 1234.", True),
        ("Which code is it?", "1234", "What is the code?", "The code is 5678.", False),
        ("How far is it?", "17 km", "How long is the way?", "It is 17 kilometres.", True),
        ("How far is it?", "17 km", "How long is the way?", "It is 17 miles.", False),
        ("What is 40 and 2?", "42", "What is 6 times 7?", "6 times 7 is 42.", False),
        ("What are 40 plus 2?", "42 euros", "What are 6 times 7?", "6 times 7 is 42.", False),
        ("When?", "It opens at 8 in summer.", "When does it open?", "In summer the mill opens at 8.", True),
        ("When?", "It opens at 8 in summer.", "When does it open?", "In summer the mill opens at 9.", False),
        (DOGS, "No.", DOGS, "No, dogs are not allowed there.", True),
        (DOGS, "No.", DOGS, "Yes, dogs are allowed.", False),
        (DOGS, "Yes.", DOGS, "No, dogs are not allowed there.", False),
        (DOGS, "Yes.", DOGS, "Yes, on a lead.", True),
        ("Is parking free?", "No.", DOGS, "No, dogs are not allowed there.", False),
        ("Is it Ada or Bob?", "Ada", "Is it Ada or Bob?", "Ada has been it since May.", True),
        ("Is it Ada or Bob?", "Ada", "Is it Ada or Bob?", "Bob, not Ada.", False),
        ("Who painted it?", "Ada", "Where does Ada live?", "Ada lives in Rye.", False),
        ("Names?", NAMES, "Titles?", "SELECT title, name FROM book JOIN author", False),
        ("Names?", NAMES, "Old ones?", f"{NAMES} WHERE born < 1900", True),
        ("Which command?", "`make up`", "How do I begin?", "Run make, with up, in here.", True),
        ("Names?", "select name\nfrom author", "Titles?", "select title, name\nfrom book join author", False),
        ("Names?", '{"name": "Ada"}', "In Rye?", '{"town": "Rye", "name": "Bob", "with": "Ada"}', False),
        ("What then?", "Take the old ladder, the lamp and two ropes to the tower.", "What do I need?",
         "In the tower you need ropes, two of them: an old lamp, and take a ladder.", True),
        ("What then?", "Take the old ladder, the lamp and two ropes to the tower.", "What do I need?",
         "In the tower you need a lamp.", False),
        ("Which code?", "55 12 34", "What is the code?", "The code is 551234.", True),
        ("Which code?", "55 12 34", "What is the code?", "The code is 5512.34.", False),
        ("Which fee?", "1 000 euros", "What is the fee?", "The fee is 1,000 euros.", True),
        ("Which date?", "12/05/2026", "What is the date?", "The date is 12.05.2026.", True),
        ("Which date?", "12.05.2026", "What is the date?", "The date is 12.06.2026.", False),
        ("Who?", "Ada, Bob and Cleo", "Who is in?", "- Cleo\n- Ada\n- Bob", True),
        ("Who?", "Ada, Bob and Cleo", "Who is in?", "Ada and Bob are in.", False),
        ("どこ", "東京", "駅はどこですか", "東京", True),
        ("どこ", "東京", "駅はどこですか", "大阪", False),
        ("Wer?", "Jörg Müller", "Wer ist es?", "Es ist JÖRG MÜLLER.", True),
        ("How far?", "20 °C", "How warm is it?", "It is 20 °F.", False),
    ],
)  # fmt: skip
def test_a_short_pair_is_followed_by_all_that_it_says_beyond_the_question(
    asked: str, told: str, prompt: str, answer: str, expected: bool
) -> None:
    pair = remembered(asked, answer=told)[0]

    assert follows(answer, pair, prompt) == expected
    assert not expected or share_in(answer, pair, prompt) == 1


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ("The hut has 12 beds and a garden.", True),
        ("The hut has 12 chairs.", False),
        ("The hut has 15 beds and a garden.", False),
        ("The hut has 12 beds, but they are not free.", False),
        ("The house in Elv has 12 beds.", False),
    ],
)
def test_what_was_written_from_a_statement_keeps_to_it_where_that_only_says_more(now: str, expected: bool) -> None:
    before = remembered(None, answer="The hut has 12 beds.")[0]
    child = remembered("How many beds are there?", answer="There are 12 beds in it.")[0]

    assert says_as_now(child, before, before.model_copy(update={"answer": now})) == expected

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
        ("It is in the UK, near London.", "Where is it?", "It is in the United Kingdom, near London.", True),
        ("It is on a card at the Reception.", "Where is it?", "It is on a card at the Front Desk.", False),
        ("Der Drucker steht beim Fahrstuhl.", "Wo?", "Der Drucker steht beim Aufzug.", False),
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


BADGES, KEY, TRAM = "Who signs swimming badges?", "Where is the spare key?", "How do I get to the castle?"
BY_NAME = [
    (BADGES, "Swimming badges are signed by trainer Monika.", "Swimming badges are signed by trainer Sabine."),
    (BADGES, "Swimming badges are signed by trainer Monika.", "Trainer Sabine signs swimming badges."),
    (BADGES, "Monika signs swimming badges in the hall on Fridays.", "Sabine signs swimming badges in the hall."),
    (BADGES, "They are signed by Monika Weber at the desk.", "They are signed by Sabine Koch at the desk."),
    (BADGES, "At the desk they are signed by Monika.", "Sabine does it: they are signed by Sabine at the desk."),
    (KEY, "The spare key is with Walter in the workshop.", "The spare key is with Gerda in the kitchen."),
    (KEY, "The spare key of the hut is kept by Walter.", "The spare key of the hut is kept by Gerda."),
    (KEY, "The spare key of the hut is kept by Walter Lang.", "The spare key of the hut is kept by Olaf Brandt."),
    (KEY, "Ask Petra Lang, who has the spare key at her desk.", "Ask Olaf Brandt, who has the spare key at his desk."),
    (KEY, "The spare key hangs in the office of director Lang.", "The spare key hangs in the office of director Moe."),
    ("When is the museum closed?", "The museum is closed on Mondays for cleaning.", "For cleaning on Tuesdays."),
    ("When is the museum closed?", "It is closed for cleaning every Monday.", "Closed for cleaning every Thursday."),
    ("When does the fair begin?", "The fair begins in June with a parade.", "With a parade, in July."),
    ("When does the fair begin?", "The parade opens the fair on 12 June.", "The parade opens the fair on 12 July."),
    ("Where does the boat leave?", "The boat leaves from the pier in Elv.", "The boat leaves from the pier in Rye."),
    ("Where does the boat leave?", "It leaves from Elv harbour at noon.", "At noon, from Rye harbour."),
    ("Where is the archive?", "The archive is in the cellar of Villa Moe.", "In the cellar of Villa Lund it is."),
    ("Which supplier brings the bread?", "Bread is brought by supplier Backfix each morning.",
     "Each morning bread is brought by supplier Kornhaus."),
    ("Who is the mayor of Elv?", "The mayor of Elv is Ida Moe, elected for the greens.",
     "The mayor of Elv is Lars Bakke, elected for the greens."),
    ("Whom do I call in an emergency?", "In an emergency call warden Moe, day and night.",
     "Call warden Lund, day and night."),
    ("Which programme do we use for invoices?", "We write invoices with the programme Lexbill.",
     "We write invoices with the programme Paperflow."),
    ("Wer unterschreibt die Abzeichen?", "Die Abzeichen werden im Bad von Trainerin Monika unterschrieben.",
     "Die Abzeichen werden im Bad von Trainerin Sabine unterschrieben."),
    ("Wann ist das Museum geschlossen?", "Das Museum ist wegen Reinigung am Montag geschlossen.",
     "Wegen Reinigung ist es am Dienstag geschlossen."),
    ("Wer hat den Schlüssel?", "Der Schlüssel liegt im Schrank bei Petra Lang.",
     "Der Schlüssel liegt im Schrank bei Olaf Brandt."),
    ("Wann ist das Fest?", "Das Fest ist im Juni auf dem Marktplatz.", "Im Juli ist es auf dem Marktplatz."),
    ("Who leads the choir?", "The choir is led by cantor Weber in the old chapel.",
     "The choir is led by cantor Krause in the old chapel."),
]  # fmt: skip
BY_NUMBER = [
    (TRAM, "Tram 6 stops right in front of the castle.", "Take tram 9, it stops in front of the castle."),
    (TRAM, "Tram 6 stops right in front of the castle.", "Tram 16 stops right in front of the castle."),
    ("What is the fee?", "The fee is 35 euros for members.", "The fee is 32 euros for members."),
    ("What is the fee?", "Members pay a fee of 35 euros.", "32 euros for members."),
    ("How do I reset it?", "Press the red button for 10 seconds.", "Press the red button for 20 seconds."),
    ("How do I reset it?", "Hold the red button 10 seconds, then type 4711.", "Hold it 10 seconds, then type 4712."),
    ("Which form is it?", "Holidays are asked for with form HR-12.", "With form HR-21 holidays are asked for."),
    ("What do members get?", "Members get 20% off in the shop.", "Members get 15% off in the shop."),
    ("What do members get?", "Members get 20% off in the shop.", "In the shop members get 20 euros off."),
    ("When does the pool open?", "The pool opens at 7:00 on weekdays.", "On weekdays at 8:00."),
    ("When does the pool open?", "The pool opens at 7 on weekdays.", "On weekdays from 7:30 on."),
    ("How many beds are there?", "The hut has 12 beds under the roof.", "There are 14 under the roof."),
    ("How long is the trail?", "The trail is 17 km long, along the lake.", "It is 19 km long, along the lake."),
    ("Which room is it?", "The course is in room 204, beside the lift.", "In room 205, beside the lift."),
    ("Which room is it?", "The course is in room 204 beside the lift.", "Beside the lift: room 402."),
    ("What is the code?", "The door code of the shed is 4711.", "The shed has the door code 4710."),
    ("What is the number?", "Call the porter at 55 12 34.", "Call the porter at 55 12 35."),
    ("How old must one be?", "Climbers must be twelve years old.", "Climbers must be fourteen years old."),
    ("What is the speed?", "The speed in the harbour is 5 knots.", "In the harbour it is 8 knots."),
    ("When is the fair?", "The fair is on 12 June in the park.", "It is in the park on 13 June."),
    ("How much fits in?", "The tank holds 1,200 litres of water.", "The tank holds 1,500 litres of water."),
    ("Was kostet es?", "Der Eintritt kostet 12 Euro.", "Der Eintritt kostet 14 Euro."),
    ("Wann beginnt es?", "Der Kurs beginnt um 18:00 Uhr im Saal.", "Im Saal beginnt der Kurs um 19:00 Uhr."),
    ("How warm is it?", "The sauna is at 80 degrees, the bath at 38.", "The sauna is at 90 degrees."),
    ("How many copies?", "Hand in 3 copies at the counter.", "Hand in 2 copies at the counter."),
]  # fmt: skip
WITH_NUMBER = [
    (TRAM, "Tram 6 stops right in front of the castle.", "Take tram 6, it stops in front of the castle."),
    (TRAM, "Tram 6 stops right in front of the castle.", "In front of the castle stops tram 6."),
    (TRAM, "Take bus 12 to the market, then walk up the hill.", "From the market, where bus 12 stops, walk uphill."),
    ("What is the fee?", "The fee is 35 euros for members.", "Members pay 35 euros."),
    ("What is the fee?", "Grown-up members pay 35 euros a year.", "35 euros a year is what members pay."),
    ("How do I reset it?", "To reset it press the red button for 10 seconds, then type 4711.",
     "Type 4711 after holding the red button 10 seconds."),
    ("How do I reset it?", "Hold the red button down for 10 seconds.", "The red button has to be held for 10 seconds."),
    ("How do I ask for leave?", "Fill in form HR-12 and hand it to your manager.",
     "Hand your manager the form HR-12, filled in."),
    ("How do I ask for leave?", "Leave is asked for with form HR-12 at the office.", "At the office, with form HR-12."),
    ("What do members get?", "Members get 20% off everything in the shop.", "In the shop all is 20 percent off."),
    ("Where is the printer?", "The printer is on floor 2, right beside the lift.", "Beside the lift on floor 2."),
    ("Where is the printer?", "It stands in room 204 beside the lift.", "Go to room 204; beside the lift it stands."),
    ("When does the pool open?", "On weekdays the pool opens at 7:00, early swimmers first.",
     "It opens for early swimmers at 7 on weekdays."),
    ("How many beds are there?", "The hut has 12 beds under the roof.", "Under the roof there are 12 beds."),
    ("How long is the trail?", "The trail along the lake is 17 km long.", "17 kilometres along the lake."),
    ("What is the code?", "The door code of the shed is 4711.", "For the shed's door type 4711."),
    ("What is the number?", "Call the porter at 55 12 34 day and night.", "Day and night the porter has 551234."),
    ("How old must one be?", "Climbers must be twelve years old.", "12 years, for climbers."),
    ("How much fits in?", "The tank holds 1,200 litres of water.", "1200 litres of water are in the tank."),
    ("When is the fair?", "The fair is on 12 June in the park.", "In the park, on June 12."),
    ("Was kostet es?", "Erwachsene zahlen 12 Euro Eintritt.", "Der Eintritt ist für Erwachsene 12 Euro."),
    ("Wann beginnt es?", "Der Kurs beginnt um 18:00 Uhr im Saal.", "Im Saal um 18 Uhr geht der Kurs los."),
    ("How many copies?", "Hand in three copies at the counter.", "At the counter 3 copies are handed in."),
    ("How warm is it?", "The sauna is heated to 80 degrees on Fridays.", "On Fridays the sauna has 80 degrees."),
    ("Which gate is it?", "Flight 217 boards at gate 5 in the new hall.", "In the new hall: flight 217, gate 5."),
    ("When do I water it?", "Water the fern every 3 days with half a cup.", "Half a cup for the fern, every 3 days."),
]  # fmt: skip
WITH_NAME = [
    (BADGES, "Swimming badges are signed by trainer Monika.", "Trainer Monika signs swimming badges."),
    (BADGES, "Swimming badges are signed by trainer Monika.", "They get signed by Monika, the trainer."),
    (BADGES, "Swimming badges are signed by trainer Monika Weber.", "They are signed by trainer Monika."),
    (BADGES, "They are signed by trainer Monika Weber.", "They are signed by trainer Weber."),
    (BADGES, "They are signed by trainer Monika on Mondays.", "Signed by trainer Monika, Monday mornings."),
    (BADGES, "Trainer Monika signs them.", "Trainer Monika signs them, not Sabine."),
    (KEY, "The spare key is with Walter in the workshop.", "Walter has it in the workshop."),
    (KEY, "Walter keeps the spare key in the workshop.", "In the workshop Walter keeps the spare key."),
    (KEY, "It is kept by Walter in the workshop.", "It is kept in the workshop by Walter; ask Gerda for one."),
    (KEY, "The spare key is with Walter in the workshop.", "Walter in the workshop has it, or ask Rye."),
    ("When is the museum closed?", "The museum is closed on Mondays for cleaning.", "For cleaning, every Monday."),
    ("When is the museum closed?", "On Mondays it is shut for cleaning.", "It is not open on Monday: cleaning."),
    ("When does the fair begin?", "The fair begins in June with a parade.", "In June, with a parade in Rye."),
    ("Where does the boat leave?", "The boat leaves from the pier in Elv.", "From the Elv pier."),
    ("Where does the boat leave?", "Boats to Rye leave from the pier in Elv.", "In Elv is the pier for Rye."),
    ("Where is the office?", "The office is in London, near the Tower.", "Near the Tower, London."),
    ("Where is the archive?", "The archive is in the cellar of Villa Moe.", "Villa Moe has the archive in its cellar."),
    ("Who is the mayor?", "The mayor is Ida Moe of the greens.", "Ida Moe, a green."),
    ("Who is the mayor of Elv?", "The mayor of Elv is Ida Moe.", "It is Ida Moe."),
    ("Wo steht der Drucker?", "Der Drucker steht seit Montag neben dem Aufzug im Flur.",
     "Seit Montag im Flur neben dem Aufzug."),
    ("Wo steht der Drucker?", "Der Drucker steht im Flur neben der Tür.", "Im Gang steht er, neben der Tür im Flur."),
    ("Wer hat den Schlüssel?", "Der Schlüssel liegt im Schrank bei Petra Lang.", "Petra Lang: er liegt im Schrank."),
    ("Wann ist das Fest?", "Das Fest ist im Juni auf dem Marktplatz.", "Auf dem Marktplatz im Juni."),
    ("Who leads the choir?", "The choir is led by cantor Weber.", "Cantor Weber leads it."),
    ("Who wrote it?", "It was written by Ada Lund in Norway.", "Ada Lund, a Norwegian from Norway."),
    ("Who wrote it?", "It was written by Ada Lund.", "It was written by A. Lund."),
]  # fmt: skip
OTHER_TOPIC = [
    (BADGES, "The spare key is with Walter in the workshop.", "They are signed by trainer Monika."),
    (BADGES, "The tower of Rye has 300 steps.", "Monika, each Friday."),
    (KEY, "Swimming badges are signed by trainer Monika.", "It hangs behind the stove."),
    (KEY, "The fee is 35 euros for members.", "With Walter, room 35."),
    (KEY, "The museum is closed on Mondays.", "Under the mat."),
    (TRAM, "The fee is 6 euros for members.", "Take tram 6."),
    (TRAM, "Press the red button for 10 seconds.", "Walk 10 minutes."),
    (TRAM, "Bread comes from the baker in Elv.", "By bus, it goes each hour."),
    ("What is the fee?", "The hut has 35 beds.", "35 euros."),
    ("What is the fee?", "Call the porter at 55 12 34.", "It costs 35 euros."),
    ("What is the fee?", "The boat has a blue funnel.", "Nothing for children."),
    ("Which room is it?", "The fee is 204 euros.", "Room 204."),
    ("Which room is it?", "The pool opens at 7:00.", "Room 7."),
    ("When is the museum closed?", "The mayor of Elv is Ida Moe.", "On Mondays."),
    ("When is the museum closed?", "Trainer Monika signs badges on Fridays.", "It is on Mondays."),
    ("When does the pool open?", "Take bus 7 to the market.", "At 7:00."),
    ("When does the pool open?", "The museum has three floors.", "Early, before school."),
    ("Who is the mayor of Elv?", "The boat leaves from the pier.", "Ida Moe."),
    ("Who is the mayor of Elv?", "The choir is led by cantor Weber.", "Ida Moe of the greens."),
    ("How many beds are there?", "Bus 12 goes to the market.", "There are 12 beds."),
    ("How many beds are there?", "The fern needs half a cup of water.", "Twelve, and two cots."),
    ("What is the code?", "The trail is 4711 m long.", "It is the word tulip."),
    ("Wo steht der Drucker?", "Erwachsene zahlen 12 Euro.", "Neben dem Aufzug."),
    ("Was kostet es?", "Trainerin Monika unterschreibt alles.", "12 Euro."),
    ("How warm is it?", "The archive moved to Villa Moe.", "80 degrees."),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "expected"),
    [(BY_NAME, False), (BY_NUMBER, False), (WITH_NUMBER, True), (WITH_NAME, True), (OTHER_TOPIC, False)],
    ids=["another name", "another number", "reworded with a number", "reworded with a name", "another topic"],
)
@pytest.mark.parametrize("kind", ["statement", "pair"])
def test_what_says_another_name_or_number_is_not_followed_but_other_words_are(
    rows: list[tuple[str, str, str]], kind: str, *, expected: bool
) -> None:
    memories = [
        (remembered(None if kind == "statement" else prompt, answer=told)[0], prompt) for prompt, told, _ in rows
    ]

    found = [follows(row[2], *one) for row, one in zip(rows, memories, strict=True)]

    assert [row for row, is_followed in zip(rows, found, strict=True) if is_followed != expected] == []

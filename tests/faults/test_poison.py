"""What planted memories do to a pool, on a smaller one than `python -m tests.faults.poison` takes."""

from pathlib import Path

from tests.faults.poison import measure


def test_planted_memories_get_less_room_and_leave_no_trace(exports: Path) -> None:
    figures = measure(size=200, tasks=24, further=10, lessons=60, exports=exports)

    for count in (1, 10):
        without, defended = (figures[f"{count} planted, {word} defences"] for word in ("without", "with"))
        assert without["tasks shown one"] > 0, "the attack works"
        assert defended["places, after lessons"] <= without["places, after lessons"]
        assert defended["of the places"] <= 1 / 3
    assert (
        figures["10 planted, with defences"]["of the places"] < figures["10 planted, without defences"]["of the places"]
    )
    assert figures["answers that orders to the scorer raised"] == "0 of 3"
    assert figures["lessons that had been learnt from them"] > 0
    assert figures["weights of the retriever"] == "the same"
    assert figures["prompts whose memories differ"].startswith("0 of ")

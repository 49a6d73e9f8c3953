"""The README says what is true."""

from pathlib import Path

from memshare.broker.settings import Settings

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def test_the_readme_describes_every_setting_in_its_own_words() -> None:
    for name, field in Settings.model_fields.items():
        default = "unset" if field.default is None else f"`{field.default}`"
        row = f"| `MEMSHARE_{name.upper()}` | {field.description} | {default} |"
        assert row in README, f"add this row to the settings table: {row}"

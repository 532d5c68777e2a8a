"""Dates of the Gregorian calendar as numbers of days, by arithmetic alone: the pure packages read no clock and import none."""

from typing import NamedTuple

_DAYS_OF_400_YEARS = 146_097


class Day(NamedTuple):
    """A date."""

    year: int
    month: int
    """[1, 12]."""
    day: int
    """[1, 31]."""

    def __str__(self) -> str:
        """Write it as YYYY-MM-DD."""
        return f"{self.year:04}-{self.month:02}-{self.day:02}"


def days_of(date: Day) -> int:
    """Count the days from 1 March of year 0 to a date: years that begin in March end in their leap day."""
    year = date.year - (date.month <= 2)
    cycle, of_cycle = divmod(year, 400)
    of_year = (153 * ((date.month + 9) % 12) + 2) // 5 + date.day - 1
    return cycle * _DAYS_OF_400_YEARS + of_cycle * 365 + of_cycle // 4 - of_cycle // 100 + of_year


def date_of(days: int) -> Day:
    """Return the date so many days after 1 March of year 0."""
    cycle, of_cycle = divmod(days, _DAYS_OF_400_YEARS)
    year = (of_cycle - of_cycle // 1460 + of_cycle // 36_524 - of_cycle // 146_096) // 365
    of_year = of_cycle - (365 * year + year // 4 - year // 100)
    shifted = (5 * of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    return Day(cycle * 400 + year + (month <= 2), month, of_year - (153 * shifted + 2) // 5 + 1)

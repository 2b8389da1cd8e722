"""Questions that name something by its number, as advisors do, over IRS pages and sections of the US Code."""

from __future__ import annotations

from typing import Final

# Each question with the name that a passage must hold to be relevant; blanks stand for any white space.
BY_NUMBER: Final[tuple[tuple[str, str], ...]] = (
    ("What is Form 5329 for?", "Form 5329"),
    ("Who has to file Form 8955-SSA?", "Form 8955-SSA"),
    ("When would an employer pick Form 5304-SIMPLE?", "Form 5304-SIMPLE"),
    ("What does Form 5305-SEP do?", "Form 5305-SEP"),
    ("How is Form 5305-SIMPLE used?", "Form 5305-SIMPLE"),
    ("What is reported on Form 5498?", "Form 5498"),
    ("Do I need Form 8880?", "Form 8880"),
    ("Is Form 5500 required?", "Form 5500"),
    ("What happens on Form 1120-A?", "Form 1120-A"),
    ("Which return is Form 1065?", "Form 1065"),
    ("What does Notice 2022-6 change?", "Notice 2022-6"),
    ("What guidance is in Notice 2014-54?", "Notice 2014-54"),
    ("Summarise Notice 2018-74.", "Notice 2018-74"),
    ("What did Notice 2022-53 announce?", "Notice 2022-53"),
    ("Notice 2013-74?", "Notice 2013-74"),
    ("What is Notice 2009-65 about?", "Notice 2009-65"),
    ("Explain Revenue Ruling 2002-62.", "Revenue Ruling 2002-62"),
    ("What did Revenue Ruling 78-406 decide?", "Revenue Ruling 78-406"),
    ("Where is T.D. 9324 relevant?", "T.D. 9324"),
    ("What does Announcement 2014-15 say?", "Announcement 2014-15"),
    ("Which topic does Publication 4222 cover?", "Publication 4222"),
    ("Should I read Publication 504?", "Publication 504"),
    ("What is in Publication 1457?", "Publication 1457"),
    ("Publication 3125, what is it?", "Publication 3125"),
    ("Where does section 415(c)(1) apply?", "section 415(c)(1)"),
    ("What refers to section 4974(c)?", "section 4974(c)"),
    ("How does section 7702B(b) matter here?", "section 7702B(b)"),
    ("What is said about section 992(a)?", "section 992(a)"),
    ("Who must report under section 6035(a)?", "section 6035(a)"),
    ("What does section 219(f)(3) have to do with a spouse?", "section 219(f)(3)"),
    ("Is section 402A(c)(3) taken into account?", "section 402A(c)(3)"),
    ("What about section 529A(e)(6)?", "section 529A(e)(6)"),
    ("When does section 877(a)(1) exclude somebody?", "section 877(a)(1)"),
    ("What is the role of section 121(d)(3)?", "section 121(d)(3)"),
    ("Which rule points to section 168(i)(2)?", "section 168(i)(2)"),
    ("What does section 267(b) add?", "section 267(b)"),
    ("Does section 7701(a)(37) define anything used here?", "section 7701(a)(37)"),
    ("How is section 401(a)(17) applied?", "section 401(a)(17)"),
    ("What does section 414(q)(4) mean for compensation?", "section 414(q)(4)"),
    ("When is section 691(c) relevant?", "section 691(c)"),
)

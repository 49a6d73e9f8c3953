"""The student and the grader as the model of a deployment: `python -m benchmarks.sql.expert [FILE]` serves it."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.support.replies import Replies
from benchmarks.support.server import serve_replies
from memshare.demo.student_server import SqlExpert
from memshare.demo.text_to_sql import read_questions

if __name__ == "__main__":
    serve_replies(Replies(SqlExpert(read_questions(Path(sys.argv[1]) if sys.argv[1:] else None))))

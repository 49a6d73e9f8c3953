"""The private names of Celery and kombu that are touched: an upgrade without one of them says so here."""

from __future__ import annotations

import ast
import inspect

import pytest
from celery.events.dispatcher import EventDispatcher
from kombu.transport import redis, virtual

from memshare_broker import celery_patches

TOUCHED = {
    "_create_client": redis.Channel,
    "_deliver": virtual.Transport,
    "_delivered": virtual.QoS,
    "_do_restore_message": redis.Channel,
    "_fanout_to_queue": redis.Channel,
    "_flush_brpop_reauth": redis.Channel,
    "_group_buffer": EventDispatcher,
    "_in_poll": redis.Channel,
    "_outbound_buffer": EventDispatcher,
    "_publish": EventDispatcher,
    "_queue_cycle": redis.Channel,
    "_raw": virtual.Message,
}


def touched() -> set[str]:
    """Private names that are read, called or overridden, and not begun in this file."""
    nodes = list(ast.walk(ast.parse(inspect.getsource(celery_patches))))
    attributes = [one for one in nodes if isinstance(one, ast.Attribute)]
    begun = {one.name for one in nodes if isinstance(one, ast.FunctionDef)}
    begun |= {one.attr for one in attributes if isinstance(one.ctx, ast.Store)}
    begun |= {one.target.id for one in nodes if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)}
    used = {one.attr for one in attributes if one.attr.startswith("_") and not one.attr.startswith("__")}
    return used - (begun - TOUCHED.keys())


def test_each_private_name_is_known_here() -> None:
    assert touched() == TOUCHED.keys()


@pytest.mark.parametrize("name", TOUCHED)
def test_the_libraries_still_have_a_private_name(name: str) -> None:
    assert any(name in inspect.getsource(one) for one in TOUCHED[name].__mro__[:-1])

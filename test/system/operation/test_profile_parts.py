# test_profile_parts.py - contrib/profile, part by part, without a process.
# SPDX-License-Identifier: ISC
import os
import random
import re
import sys
import xml.etree.ElementTree as tree

import pytest

from harness import HERE, ROOT

sys.path.insert(0, os.path.join(ROOT, "contrib", "profile"))
try:
    import flame
    import perf_script
    import reasons
finally:
    del sys.path[0]

SAMPLES = os.path.join(HERE, "perf_script")


def stacks_of(text, away=0):
    return perf_script.read(text.splitlines(keepends=True), "pgsluice", away)


def stacks(**weights):
    return made(weights)


def made(weights):
    found = perf_script.Stacks()
    for text, weight in weights.items():
        found.add(text, weight)
    found.sort()
    return found


# --- what perf prints -----------------------------------------------------

def test_samples_become_stacks():
    found = stacks_of("""\
15621  2427.032491: 
\tffffffff816e1f12 tcp_ack ([kernel.kallsyms])
\tffffffff81000130 do_syscall_64 ([kernel.kallsyms])
\t           fd001 recv (/usr/lib/x86_64-linux-gnu/libc.so.6)
\t           32f72 stream_recv.lto_priv.0 (/usr/bin/pgsluice)
\t           3238c main (/usr/bin/pgsluice)

    7  2427.033491: 
\t           3238c main (/usr/bin/pgsluice)

    7  2427.034491: 
\t           3238c main (/usr/bin/pgsluice)
""")
    assert found.weight == found.times == 3
    assert found.all == {
        "main": 2, "main;stream_recv;libc:recv;kernel:do_syscall_64;"
        "kernel:tcp_ack": 1}


@pytest.mark.parametrize("frame,want", [
    ("f.isra.0.cold (/opt/pgsluice)", "f"),
    ("f.constprop.2 (/opt/pgsluice (deleted))", "f"),
    ("f (/a b (c)/pgsluice)", "f"),
    ("f (/opt/pgsluice.old)", "pgsluice.old:f"),
    ("g@GLIBC_2.2.5 (/lib/libc.so.6)", "libc:g"),
    ("g@@GLIBC_2.2.5 (/lib/libc-2.36.so)", "libc-2.36:g"),
    ("nf_hook ([nf_tables])", "kernel:nf_hook"),
    ("nf_hook (/lib/modules/6.1/net/nf_tables.ko.xz)", "kernel:nf_hook"),
    ("clock ([vdso])", "[vdso]:clock"),
    ("std::map<int, char>::at(int) const (/lib/libx.so.1)",
     "libx:std::map<int, char>::at(int) const"),
    # what has no name is its file
    ("[unknown] (/lib/libevent_core-2.1.so.7)", "[libevent_core-2.1]"),
    ("[unknown] (/usr/bin/pgsluice)", "[pgsluice]"),
    ("[unknown] ([unknown])", "[unknown]"),
    ("[unknown] ([kernel.kallsyms])", "[kernel]"),
    ("f ([unknown])", "f"), ("", "[unknown]"), ("f", "f"), ("f (", "f ("),
    # hostile names stay one frame
    ("a;b 12 (/opt/pgsluice)", "a:b 12"),
    ("a\t\x1b[31m\x7f (/opt/pgsluice)", "a??[31m?"),
    ("a (/x;y\x01/li;b.so)", "li:b:a"),
    ("x" * 3000 + " (/opt/pgsluice)" + "x" * 3000, "x" * 159)])
def test_names_are_short(frame, want):
    found = perf_script.read(["7 1.5: \n", f"\t 1f {frame}\n", "\n"],
                             "pgsluice")
    assert found.all == {want: 1}


def test_of_a_deep_stack_the_innermost_frames_stay():
    found = stacks_of("7 1.5: \n\t1 leaf (/opt/pgsluice)\n" + "".join(
        "\t1 f%d_%0120d (/opt/pgsluice)\n" % (i, 0) for i in range(147)))
    (text, weight), = found.all.items()
    assert weight == 1 and text.endswith(";leaf")
    assert perf_script.STACK_MAX - 200 < len(text) < perf_script.STACK_MAX


def test_frames_behind_the_outermost_are_left_out():
    assert stacks_of(
        "7 1.5: \n\t1 f (/opt/pgsluice)\n"
        "\t560499d33b68 [unknown] ([unknown])\n"
        "\t560499d33b70 [unknown] ([unknown])\n\n").all == {"f": 1}


@pytest.mark.parametrize("text", [
    "# a comment\n\tframe of nothing (x)\n\nWarning: 1.5\n7 x.5: \n\n"
    "-3 1.5: \n\n7 12345678901234567890.1: \n\n7 106666666666666.5: \n\n"
    "7 18446744073709551616: \n\n \n", ""])
def test_noise_is_no_sample(text):
    assert stacks_of(text).times == 0


def test_time_away_is_from_leaving_to_coming_back():
    """others' stacks are of no interest"""
    found = stacks_of("""\
9 9.000000: \n\t1 other (/bin/x)\n
7 10.000000: \n\t2 schedule ([kernel.kallsyms])\n\t1 main (/opt/pgsluice)\n
0 10.250000: \n\t1 idle ([kernel.kallsyms])\n
8 10.300000: \n\t1 other (/bin/x)\n
7 11.5: \n\t2 schedule ([kernel.kallsyms])\n\t1 main (/opt/pgsluice)\n
9 11.500500123: \n\t1 other (/bin/x)\n
7 12.000000: \n\t1 main (/opt/pgsluice)\n
""", 7)
    assert found.all == {"main;kernel:schedule": 250500}
    assert found.weight == 250500 and found.times == 2


def test_a_clock_that_goes_back_adds_nothing():
    assert stacks_of("7 10.0: \n\t1 main (/opt/pgsluice)\n\n"
                     "9 9.0: \n\t1 other (/bin/x)\n\n", 7).weight == 0


def test_sorted_stacks_are_a_tree_in_order():
    names = ["a2;x", "a;z", "a2", "a", "a;b c;d", "a;b;d", "\xe4"]
    assert list(made(dict.fromkeys(names, 1)).all) == [
        "a", "a;b;d", "a;b c;d", "a;z", "a2", "a2;x", "\xe4"]


def test_what_is_beyond_the_cap_is_counted_only(monkeypatch):
    monkeypatch.setattr(perf_script, "STACKS_MAX", 5)
    found = made({f"f{i}": 2 for i in range(7)})
    found.add("f3", 1)
    assert (len(found.all), found.homeless, found.weight) == (5, 4, 15)


# --- reasons ---------------------------------------------------------------

@pytest.mark.parametrize("stack,reason", [
    ("main;loop_run;stream_on;relay_up;libc:recv;kernel:do_syscall_64;"
     "kernel:__x64_sys_recvfrom;kernel:tcp_recvmsg", "receiving"),
    ("main;relay_up;libc:sendmsg;kernel:__arm64_sys_sendmsg;"
     "kernel:tcp_v4_rcv", "sending"),
    ("main;kernel:__se_sys_epoll_wait", "waiting for events"),
    ("main;kernel:__sys_connect", "opening and closing connections"),
    ("main;relay_up;libc:__memcpy_evex", "protocol"),
    ("main;relay_up;text_add", "protocol"),
    ("main;relay_up;mem_alloc;libc:malloc", "memory"),
    ("main;relay_up;kernel:asm_exc_page_fault;kernel:x", "memory"),
    ("main;server_connected;x", "opening and closing connections"),
    ("main;server_login_take", "logins"),
    ("main;server_close", "protocol"),
    ("main;broker_release;join", "pooling"),
    ("main;console_run;view_pools", "console and HTTP"),
    ("main;log_at;libc:vsnprintf", "logging"),
    ("main;janitor_tick", "upkeep"),
    ("main", "event loop"), ("x;y", "other"), ("[unknown]", "other"),
    ("", "other"), (";;", "other"),
    # what belongs to many counts where no other is known
    ("main;libcrypto:aes", "TLS and ciphers"),
    ("libcrypto:sha", "TLS and ciphers"),
    ("x;scram_client_final;libcrypto:sha", "logins"),
    ("log_out_write;kernel:__x64_sys_write", "logging"),
    ("x;kernel:__x64_sys_write", "sending"),
    ("x;libevent_core-2.1:event_base_loop", "event loop")])
def test_the_innermost_that_is_known_decides(stack, reason):
    assert reasons.reason_of(stack, False) == reason


@pytest.mark.parametrize("stack,away,there", [
    ("main;relay_up;kernel:asm_sysvec_x;kernel:irqentry_exit_to_user_mode;"
     "kernel:schedule", "waiting for a CPU", "protocol"),
    ("main;kernel:__x64_sys_epoll_wait;kernel:schedule",
     "waiting for events", "waiting for events"),
    ("x;kernel:__x64_sys_futex;kernel:schedule", "locks", "locks")])
def test_only_who_is_away_waits_for_a_cpu(stack, away, there):
    assert reasons.reason_of(stack, True) == away
    assert reasons.reason_of(stack, False) == there


def test_sums_are_those_of_all_stacks():
    found = made({"main;relay_up;libc:recv": 3, "main;libc:recv": 4, "?": 5})
    found.homeless = 6
    sums = reasons.sums(found, False)
    assert list(sums) == list(reasons.NAMES)
    assert {r: n for r, n in sums.items() if n} == {"receiving": 7,
                                                    "other": 11}


# --- the picture -----------------------------------------------------------

def drawn(weights, title="t"):
    return flame.Flame(made(weights), "samples", 1).svg(title)


def test_a_function_is_as_wide_as_its_share():
    svg = drawn({"main;a": 30, "main;b": 10, "main;a;c": 40, "other": 20})
    for name, n, x, y, width in (
            ("all", 100, 0, 34, 1200), ("main", 80, 0, 51, 960),
            ("a", 70, 0, 68, 840), ("c", 40, 360, 85, 480),
            ("b", 10, 840, 68, 120), ("other", 20, 960, 51, 240)):
        assert (f'<title>{name}: {n} samples, {n}.0 %</title><rect '
                f'x="{x}.00" y="{y}" width="{width}.00"') in svg
    assert svg.count("<rect x=") == 6
    assert svg.count("<g>") == svg.count("</g>")


def test_a_call_of_itself_is_a_frame_of_its_own():
    svg = drawn({"a;a;a": 1, "a;b;a": 1})
    assert svg.count("<title>a: ") == 4
    assert "<title>a: 2 samples, 100.0 %" in svg


def test_names_are_text_not_markup():
    svg = drawn({"</title><script>alert(1)</script>&\"'": 1,
                 "bad \xff\x01\x1b utf \xc3\xa9 \xef\xbf\xbf\xc2\x85": 1},
                "<b>&\x02")
    assert "<script" not in svg
    assert ("&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;"
            "&quot;&#39;: 1 samples") in svg
    assert "bad ??? utf \xe9 ??: 1" in svg
    assert ">&lt;b&gt;&amp;?</text>" in svg
    tree.fromstring(svg)


def test_a_long_name_is_cut_between_characters():
    """40 pixels have room for 5, 2 of them dots"""
    assert ">\xe9\xe9\xe9..</text>" in drawn(
        {"a;" + "\xc3\xa9" * 8: 40, "b": 1160})


def test_what_cannot_be_seen_is_left_out():
    svg = drawn({"a": 1000000, "b": 1})
    assert "<title>a: " in svg and "<title>b: " not in svg
    assert "<title>all: 0" not in drawn({})


@pytest.mark.parametrize("name", ["odd", "off", "on"])
def test_torn_and_mixed_samples_make_a_picture(name):
    """of which each sample has a reason; its first byte is no part of it"""
    with open(os.path.join(SAMPLES, name), encoding="latin-1") as f:
        text = f.read()[1:]
    rng = random.Random(name)
    words = re.split(r"([ \t\n();])", text)
    for n in range(150):
        mixed = list(words)
        for _ in range(4):
            mixed[rng.randrange(len(mixed))] = rng.choice(
                words + ["\n", "\t", " (", ";", "\xff", "\0"])
        found = stacks_of("".join(mixed), 7 * (n % 2))
        assert sum(reasons.sums(found, n % 2 == 1).values()) == found.weight
        if found.weight:
            tree.fromstring(flame.Flame(found, "ms", 1000).svg(name))

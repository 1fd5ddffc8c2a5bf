import itertools
import json
import random

import pytest

from opencompass_traj.metrics.argument_rules import argument_rules
from opencompass_traj.metrics.effects import CHANGE_VERBS, LOOKUP_VERBS, EffectPatterns, effects, is_effect
from opencompass_traj.plan import Step
from tests.data import shared_data

RULES = argument_rules()


def calls(text):
    """`set1 add2! get` : a call for each word, its digits as the argument, `!` for a failed one, `|` between turns."""
    found = []
    for turn, words in enumerate(text.split('|')):
        for word in words.split():
            name = word.rstrip('!').rstrip('0123456789')
            args = {'n': word.rstrip('!')[len(name) :]}
            found.append(Step(len(found), name, args, turn=turn if '|' in text else None, failed=word.endswith('!')))
    return found


@pytest.mark.parametrize(
    ('name', 'expected'),
    [
        ('get_user_details', False),
        ('getUserDetails', False),
        ('GetUserDetails', False),
        ('GETUser', False),
        ('get-user', False),
        ('get2', False),
        ('get', False),
        ('TrainDesk.find_station', False),
        ('TrainDesk.book_seat', True),
        ('mcp__notes__search', False),
        ('notes/delete', True),
        ('search.send', True),
        ('server:readFile', False),
        ('web_search', False),
        ('HTTPGet', False),
        ('order_lookup', False),
        ('look_up_word', False),
        ('think', False),
        ('calculate', False),
        ('delete_search_history', True),
        ('send_query', True),
        ('create_view', True),
        ('add_to_list', True),
        ('cancel_order', True),
        ('book_flight', True),
        ('transfer_to_human_agents', True),
        ('check_stock', False),
        ('check_in', True),
        ('checkOut', True),
        ('target', True),
        ('getter', True),
        ('list', False),
        ('查询', True),
        ('7', True),
        ('', True),
        ('...', True),
        ('x' * 100_000 + '.get', False),
    ],
)
def test_default_patterns(name, expected):
    assert is_effect(name) is expected


def test_lists_of_verbs_are_sound():
    assert not LOOKUP_VERBS & CHANGE_VERBS
    assert all(word.isalpha() and word.islower() for word in LOOKUP_VERBS | CHANGE_VERBS)
    assert {'get', 'search', 'list', 'find', 'read', 'calculate', 'think'} <= LOOKUP_VERBS


@pytest.mark.parametrize(
    ('name', 'effects', 'lookups', 'expected'),
    [
        ('get_token', ('get_token',), (), True),
        ('book', ('send_*',), (), False),
        ('send_mail', ('send_*',), (), True),
        ('Send_mail', ('send_*',), (), False),
        ('send_mail', (), (), False),
        ('send_mail', None, ('send_*',), False),
        ('book', None, ('send_*',), True),
        ('get', None, ('send_*',), False),
        ('get', ('*',), ('get',), False),
        ('put', ('*',), ('get',), True),
    ],
)
def test_declared_patterns(name, effects, lookups, expected):
    assert is_effect(name, EffectPatterns(effects, lookups)) is expected


@pytest.mark.parametrize('wrong', [{'effects': 'send_*'}, {'lookups': 'get_*'}, {'effects': (7,)}])
def test_wrong_patterns(wrong):
    with pytest.raises(TypeError, match='a list of patterns'):
        EffectPatterns(**wrong)


@pytest.mark.parametrize(
    ('pred', 'ref', 'matched', 'extra', 'missing', 'in_order'),
    [
        ('', '', 0, (), (), 0),
        ('get1 get2', 'find', 0, (), (), 0),
        ('get1 set1', 'set1 find', 1, (), (), 1),
        ('set1 get set2', 'set2 set1', 2, (), (), 1),
        ('set1 set1', 'set1', 1, (1,), (), 1),
        ('set1', 'set1 set1', 1, (), (1,), 1),
        ('set1! set1', 'set1', 1, (), (), 1),
        ('set1!', 'set1', 0, (), (0,), 0),
        ('set2', 'set1', 0, (0,), (0,), 0),
        ('add1', 'set1', 0, (0,), (0,), 0),
        ('set1', '', 0, (0,), (), 0),
        ('', 'set1', 0, (), (0,), 0),
        ('set2 | set1 | add', 'add | set1 | set2', 3, (), (), 1),
        # Calls of one turn have no order, on either side.
        ('set2 set1 | add', 'set1 | set2 | add', 3, (), (), 3),
        ('set2 | set1 | add', 'set1 set2 | add', 3, (), (), 3),
        ('add | set1 set2', 'set1 set2 | add', 3, (), (), 2),
    ],
)
def test_literal_values(pred, ref, matched, extra, missing, in_order):
    match = effects(calls(pred), calls(ref), RULES)
    assert (match.score.matched, match.extra, match.missing) == (matched, extra, missing)
    assert match.exact is (not extra and not missing)
    assert match.exact is (match.score.f1 == 1)
    assert match.proved
    ordered = effects(calls(pred), calls(ref), RULES, ordered=True)
    assert ordered.score.matched == in_order
    assert ordered.proved
    assert (ordered.score.n_pred, ordered.score.n_ref) == (match.score.n_pred, match.score.n_ref)


def test_scores_and_pairs():
    match = effects(calls('get set1 add2 add3'), calls('add2 find set1'), RULES)
    assert match.pairs == ((1, 2), (2, 0))
    assert (match.extra, match.missing) == ((3,), ())
    assert (match.score.precision, match.score.recall, match.score.f1) == (2 / 3, 1, 0.8)
    declared = effects(calls('get set1'), calls('get'), RULES, patterns=EffectPatterns(effects=('get',)))
    assert declared.exact
    assert effects(calls(''), calls(''), RULES).score.f1 == 1
    assert effects(calls('set'), calls(''), RULES).score.f1 == 0


def test_arguments_are_compared_by_the_rules():
    golden = [Step(0, 'cancel', {'booking': 7, 'reason': 'x'})]
    run = [Step(0, 'cancel', '{"booking": "7", "reason": "other"}')]
    assert not effects(run, golden, RULES).exact
    assert effects(run, golden, argument_rules({'tools': {'cancel': {'reason': 'ignore'}}})).exact
    assert effects([Step(0, 'reset', None)], [Step(0, 'reset', {})], argument_rules('strict')).exact


def test_rules_that_are_not_transitive_need_a_matching():
    """0 fits both golden numbers, 2 only one: whoever takes the first fit loses a pair."""
    rules = argument_rules({'tolerance': 1})
    run = [Step(0, 'set', {'n': 0}), Step(1, 'set', {'n': 2})]
    golden = [Step(0, 'set', {'n': 1}), Step(1, 'set', {'n': -1})]
    assert effects(run, golden, rules).exact
    assert effects(run[::-1], golden, rules).exact


def best(preds, refs, rules, ordered):
    """Slow and obvious: the most pairs of equal calls, one to one, over all ways to choose them."""
    size = min(len(preds), len(refs))
    for count in range(size, 0, -1):
        for left in itertools.combinations(range(len(preds)), count):
            choices = itertools.combinations(range(len(refs)), count)
            for right in choices if ordered else itertools.permutations(range(len(refs)), count):
                if all(
                    preds[i].name == refs[j].name and rules.equal(preds[i].args, refs[j].args, tool=refs[j].name)
                    for i, j in zip(left, right, strict=True)
                ):
                    return count
    return 0


@pytest.mark.parametrize('ordered', [False, True])
def test_against_brute_force(ordered):
    rng = random.Random(11)
    rules = argument_rules({'tolerance': 1})

    def plan():
        size = rng.randint(0, 5)
        return [
            Step(i, rng.choice(['set', 'add', 'get']), {'n': rng.randint(0, 3)}, failed=rng.choice([None, False, True]))
            for i in range(size)
        ]

    def kept(steps):
        return [step for step in steps if step.name != 'get' and step.failed is not True]

    for _ in range(300):
        pred, ref = plan(), plan()
        match = effects(pred, ref, rules, ordered=ordered)
        assert match.score.matched == best(kept(pred), kept(ref), rules, ordered)
        assert (match.score.n_pred, match.score.n_ref) == (len(kept(pred)), len(kept(ref)))
        assert len(match.pairs) + len(match.extra) == match.score.n_pred
        assert len(match.pairs) + len(match.missing) == match.score.n_ref
        assert effects(pred, pred, rules, ordered=ordered).exact
        assert effects(ref, pred, rules, ordered=ordered).score.matched == match.score.matched
        if ordered:
            assert match.score.matched <= effects(pred, ref, rules).score.matched
            assert [j for _, j in match.pairs] == sorted(j for _, j in match.pairs)
        # More look-ups and failed calls change nothing; one more change is an extra one.
        more = [*pred, Step(90, 'find', {}), Step(91, 'set', {'n': 99}, failed=True)]
        assert effects(more, ref, rules, ordered=ordered).score == match.score
        assert not effects([*pred, Step(92, 'set', {'n': 99})], ref, rules, ordered=ordered).exact


def auc(scores, solved):
    """The chance that a solved run scores above an unsolved one; equal scores count one half."""
    good = [score for score, yes in zip(scores, solved, strict=True) if yes]
    bad = [score for score, yes in zip(scores, solved, strict=True) if not yes]
    return sum((g > b) + 0.5 * (g == b) for g in good for b in bad) / (len(good) * len(bad))


def recorded_run(messages):
    results = {m['tool_call_id']: m['content'] for m in messages if m['role'] == 'tool'}
    found = []
    for turn, message in enumerate(messages):
        for call in message.get('tool_calls') or ():
            failed = results.get(call['id'], '').startswith('Error')
            function = call['function']
            found.append(Step(len(found), function['name'], function['arguments'], turn=turn, failed=failed))
    return found


# The airline's tools that write to its database; to hand a customer over to a person writes nothing there.
AIRLINE = EffectPatterns(effects=('book_*', 'cancel_*', 'update_*', 'send_*'))


@pytest.mark.parametrize(
    ('patterns', 'ordered', 'least_f1', 'least_exact'),
    [(AIRLINE, False, 0.95, 0.95), (AIRLINE, True, 0.95, 0.95), (None, False, 0.60, 0.65)],
)
def test_effects_tell_solved_runs_from_unsolved(patterns, ordered, least_f1, least_exact):
    lines = shared_data('tau_bench/gpt_4o_airline.jsonl').read_text(encoding='utf-8').splitlines()
    rows = [json.loads(line) for line in lines]
    matches = []
    for row in rows:
        golden = [Step(i, action['name'], action['kwargs']) for i, action in enumerate(row['gold_actions'])]
        run = recorded_run(row['messages'])
        matches.append(effects(run, golden, RULES, patterns=patterns, ordered=ordered))
    solved = [row['reward'] == 1 for row in rows]
    f1, exact = (auc(scores, solved) for scores in ([m.score.f1 for m in matches], [m.exact for m in matches]))
    print(f'{patterns=} {ordered=}: AUC of F1 {f1:.4f}, of exact {exact:.4f}')
    assert f1 >= least_f1
    assert exact >= least_exact

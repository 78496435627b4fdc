import { type ListChange, type RevocationList, canonicalJson, changeBetween, listDeltaText } from '@chancery/protocol'
import type { Random } from '../lib/random.ts'

/** The signed versions of one authority, in order. */
interface History {
  readonly lists: readonly RevocationList[]
  /** The same numbers and entries, signed by another key of the same name. */
  readonly forged: readonly RevocationList[]
  readonly random: Random
}

export function changeOf(from: RevocationList, to: RevocationList): ListChange {
  return changeBetween(textsOf(from), textsOf(to))
}

function textsOf({ revoked_certificates }: RevocationList): readonly string[] {
  return revoked_certificates.map((entry) => canonicalJson(entry))
}

/** One kind of wrong delta, made from a right one or from several. */
interface WrongDelta {
  readonly name: string
  make(held: RevocationList, next: RevocationList, history: History): string
}

type Runs = ListChange['added']

function pickList(lists: readonly RevocationList[], random: Random, except: RevocationList): RevocationList {
  const others = lists.filter(({ sequence }) => sequence !== except.sequence)
  return others[random.below(others.length)] ?? except
}

/** The right delta with another change. */
function changed(make: (change: ListChange, random: Random) => ListChange): WrongDelta['make'] {
  return (held, next, { random }) => listDeltaText(held.sequence, next, make(changeOf(held, next), random))
}

/** The right delta with other members of the new list. */
function renamed(make: (next: RevocationList, history: History) => RevocationList): WrongDelta['make'] {
  return (held, next, history) => listDeltaText(held.sequence, make(next, history), changeOf(held, next))
}

function editRun(
  added: Runs,
  random: Random,
  edit: (entries: readonly string[], random: Random) => readonly string[],
): Runs {
  if (added.length === 0) return [{ at: 0, entries: [EXTRA] }]
  const chosen = random.below(added.length)
  return added
    .map((run, index) => (index === chosen ? { ...run, entries: edit(run.entries, random) } : run))
    .filter(({ entries }) => entries.length > 0)
}

const EXTRA = canonicalJson({
  certificate_id: 'cert-extra',
  issuer: 'na-main',
  reason: 'unspecified',
  revoked_at: '2026-01-02T03:04:05Z',
})

function otherBase(held: RevocationList, next: RevocationList, { lists, random }: History): RevocationList {
  const earlier = lists.filter(({ sequence }) => sequence <= next.sequence)
  return pickList(earlier, random, held)
}

export const WRONG_DELTAS: readonly WrongDelta[] = [
  {
    name: 'another base',
    make: (held, next, history) => {
      const base = otherBase(held, next, history)
      return listDeltaText(base.sequence, next, changeOf(base, next))
    },
  },
  {
    name: 'another base under this number',
    make: (held, next, history) => listDeltaText(held.sequence, next, changeOf(otherBase(held, next, history), next)),
  },
  {
    name: 'an entry is missing',
    make: changed(({ removed, added }, random) => ({ removed, added: editRun(added, random, (run) => run.slice(1)) })),
  },
  {
    name: 'an entry is added',
    make: changed(({ removed, added }, random) => ({
      removed,
      added: editRun(added, random, (run) => [...run, EXTRA]),
    })),
  },
  {
    name: 'an entry is there twice',
    make: changed(({ removed, added }, random) => ({
      removed,
      added: editRun(added, random, (run) => [...run, run[0] ?? EXTRA]),
    })),
  },
  {
    name: 'entries in another order',
    make: changed(({ removed, added }, random) => ({
      removed,
      added: editRun(added, random, (run) => (run.length < 2 ? [] : run.toReversed())),
    })),
  },
  {
    name: 'nothing is added',
    make: changed(({ removed }) => ({ removed: removed.length > 0 ? removed : [{ at: 0, count: 1 }], added: [] })),
  },
  {
    name: 'one removal is missing',
    make: changed(({ removed, added }) => ({
      removed: removed.length > 0 ? removed.slice(1) : [{ at: 0, count: 1 }],
      added,
    })),
  },
  {
    name: 'another entry is removed',
    make: changed(({ removed, added }, random) => ({
      removed: [
        ...removed.map(({ at, count }) => ({ at: at + 1, count })),
        ...(removed.length > 0 ? [] : [{ at: random.below(50), count: 1 }]),
      ],
      added,
    })),
  },
  {
    name: 'places moved',
    make: changed(({ removed, added }, random) => ({
      removed,
      added:
        added.length === 0
          ? [{ at: 1, entries: [EXTRA] }]
          : added.map((run) => ({ ...run, at: Math.max(0, run.at + random.below(7) - 3 || 1) })),
    })),
  },
  {
    name: 'numbers without bounds',
    make: changed(({ removed, added }, random) => ({
      removed: [
        ...removed,
        {
          at: random.pick([0, 2 ** 31, Number.MAX_SAFE_INTEGER]),
          count: random.pick([1, 2 ** 32, Number.MAX_SAFE_INTEGER]),
        },
      ],
      added,
    })),
  },
  {
    name: 'an entry of another issuer',
    make: changed(({ removed, added }, random) => ({
      removed,
      added: editRun(added, random, (run) => run.map((text) => text.replace('na-main', 'na-else'))),
    })),
  },
  {
    name: 'the signature of another version',
    make: renamed((next, { lists, random }) => ({ ...next, signatures: pickList(lists, random, next).signatures })),
  },
  {
    name: 'the number of another version',
    make: renamed((next, { lists, random }) => ({ ...next, sequence: pickList(lists, random, next).sequence })),
  },
  {
    name: 'the times of another version',
    make: renamed((next, { lists, random }) => {
      const { issued_at, next_update } = pickList(lists, random, next)
      return { ...next, issued_at, next_update }
    }),
  },
  { name: 'a later end', make: renamed((next) => ({ ...next, next_update: '2099-01-01T00:00:00Z' })) },
  { name: 'another issuer', make: renamed((next) => ({ ...next, issuer: 'na-else' })) },
  { name: 'no signature', make: renamed((next) => ({ ...next, signatures: [] })) },
  {
    name: 'the signature of another key',
    make: renamed((next, { forged }) => forged[next.sequence] ?? next),
  },
  {
    name: 'an older list',
    make: (held, _next, { lists, random }) => {
      const older = lists[random.below(held.sequence + 1)] ?? held
      return listDeltaText(held.sequence, older, changeOf(held, older))
    },
  },
  {
    name: 'a delta that was right before',
    make: (held, _next, { lists, random }) => {
      const [from, to] = [random.below(held.sequence + 1), held.sequence]
      const [base, target] = [lists[from] ?? held, lists[to] ?? held]
      return listDeltaText(base.sequence, target, changeOf(base, target))
    },
  },
  {
    name: 'additions of one delta with removals of another',
    make: (held, next, { lists, random }) => {
      const other = pickList(lists, random, next)
      const [removed, added] = [changeOf(held, other).removed, changeOf(held, next).added]
      return listDeltaText(held.sequence, next, {
        removed: [...removed, ...(removed.length > 0 ? [] : [{ at: 2, count: 1 }])],
        added,
      })
    },
  },
  {
    name: 'cut',
    make: (held, next, { random }) => {
      const text = listDeltaText(held.sequence, next, changeOf(held, next))
      return text.slice(0, random.below(text.length))
    },
  },
  {
    name: 'one character is another',
    make: (held, next, { random }) => {
      const text = listDeltaText(held.sequence, next, changeOf(held, next))
      const at = random.below(text.length)
      return `${text.slice(0, at)}${String.fromCharCode(33 + random.below(94))}${text.slice(at + 1)}`
    },
  },
  {
    name: 'two deltas in one text',
    make: (held, next, { lists, random }) => {
      const other = pickList(lists, random, next)
      return `${listDeltaText(held.sequence, next, changeOf(held, next))}${listDeltaText(held.sequence, other, changeOf(held, other))}`
    },
  },
  {
    name: 'a repeated member',
    make: (held, next) =>
      listDeltaText(held.sequence, next, changeOf(held, next)).replace('{"added":', '{"removed":[],"added":'),
  },
  {
    name: 'more bytes than the limit',
    make: (held, next, { random }) => {
      const text = listDeltaText(held.sequence, next, changeOf(held, next))
      // Made in few of the cases: each is megabytes.
      return random.chance(5) ? text + ' '.repeat(4_200_000) : `${text}x`
    },
  },
  { name: 'the full list', make: (_held, next) => canonicalJson(next) },
]

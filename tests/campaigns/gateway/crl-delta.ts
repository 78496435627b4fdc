import {
  canonicalJson,
  checkListAdvance,
  CompactCrl,
  fromUtf8,
  joinBytes,
  listDeltaText,
  positionOfList,
  readPublicKey,
  seconds,
  toUtf8,
  writeJson,
} from '@chancery/protocol'
import type { Instant, RevocationList } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { type TestEntry, type TestIssuer, testIssuer, testList } from '@chancery/testkit'
import { type AcceptedList, checkList } from '../../../apps/gateway/src/trust/check-list.ts'
import { offeredWithDelta, scannedList } from '../../../packages/sdk/src/trust/scanned-list.ts'
import { RelyingParty } from '../../../packages/sdk/src/verify/relying-party.ts'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { type Random, seededRandom } from '../lib/random.ts'
import { changeOf, WRONG_DELTAS } from './wrong-deltas.ts'

export const summary = 'wrong, cut and mixed deltas of a revocation list at the three readers: none is accepted'
export const defaultCount = 10_000

const VERSIONS = 24
const ENTRIES = 120
/** Every so many cases the delta is right, and must be accepted: a reader that accepts nothing would pass otherwise. */
const RIGHT_EVERY = 10

export async function run({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
  const random = seededRandom(seed)
  const now = systemClock.now()
  const [by, other] = [await testIssuer('agency'), await testIssuer('elsewhere')]
  const history = {
    lists: await sign(by, now, seededRandom(seed)),
    forged: await sign(other, now, seededRandom(seed)),
    random,
  }
  const genuine = new Set(history.lists.map((list) => canonicalJson(list)))
  for (const list of history.lists)
    genuineBy.set(`${list.sequence} ${positionOfList(list).entriesDigest}`, canonicalJson(list))
  const refusals = new Map<string, number>()
  let [violations, right] = [0, 0]
  for (let number = 0; number < count; number += 1) {
    const held = history.lists[random.below(VERSIONS - 1)] as RevocationList
    const isRight = number % RIGHT_EVERY === 0
    const next = history.lists[held.sequence + random.below(VERSIONS - held.sequence - 1) + 1] as RevocationList
    const wrong = WRONG_DELTAS[random.below(WRONG_DELTAS.length)]
    const text =
      isRight || wrong === undefined
        ? listDeltaText(held.sequence, next, changeOf(held, next))
        : wrong.make(held, next, history)
    for (const [reader, read] of READERS) {
      const made = await read(held, text, by, now)
      if (isRight && made !== canonicalJson(next)) {
        violations += 1
        log(`violation: ${reader} refused the right delta from ${held.sequence} to ${next.sequence}, case ${number}`)
      }
      if (isRight) continue
      // A change in the text that means the same makes the signed list, and nothing else.
      const isGenuine = made !== undefined && genuine.has(made) && sequenceOf(made) >= held.sequence
      if (made !== undefined && !isGenuine) {
        violations += 1
        log(`violation: ${reader} accepted a delta with: ${wrong?.name}, case ${number}`)
      }
      if (made === undefined) refusals.set(wrong?.name ?? '', (refusals.get(wrong?.name ?? '') ?? 0) + 1)
    }
    if (isRight) right += 1
  }
  for (const [name, refused] of [...refusals].sort(([a], [b]) => (a < b ? -1 : 1))) log(`${name}: ${refused} refused`)
  log(`${right} right deltas accepted by each of ${READERS.length} readers`)
  return { cases: count, violations }
}

/** Versions that add, prune, raise a reason, or are signed again unchanged. */
async function sign(by: TestIssuer, now: Instant, random: Random): Promise<readonly RevocationList[]> {
  let entries: TestEntry[] = Array.from({ length: ENTRIES }, (_, n) => ({ certificate_id: `cert-${n}` }))
  const lists: RevocationList[] = []
  for (let sequence = 0; sequence < VERSIONS; sequence += 1) {
    lists.push(await testList(by, now, { sequence, issuedAgo: seconds(1000 - sequence), entries }))
    const added = Array.from({ length: random.below(6) }, (_, n) => ({ certificate_id: `cert-${sequence}-${n}` }))
    const pruned = entries.filter(() => !random.chance(3))
    entries = [...pruned, ...added].map((entry) =>
      random.chance(1) ? { ...entry, reason: 'cessation_of_operation' as const } : entry,
    )
  }
  return lists
}

type Reader = (held: RevocationList, text: string, by: TestIssuer, now: Instant) => Promise<string | undefined>

/** Returns the text of the list that a reader installed. */
const READERS: readonly (readonly [string, Reader])[] = [
  [
    'gateway',
    async (held, text, by, now) => {
      const anchors = new Map([[by.keyId, readPublicKey(by.signer.publicKey) ?? new Uint8Array()]])
      const freshness = { maxAge: seconds(604_800), clockSkew: seconds(30) }
      const task = { issuer: by.keyId, anchors, floor: held.sequence, freshness, now }
      const current = (await checkList({ ...task, bytes: toUtf8(writeJson(held)), demand: 'signed' })) as AcceptedList
      const delta = { base: current.body, maxBytes: 1_000_000 }
      const result = await checkList({ ...task, current, delta, bytes: toUtf8(text), demand: 'fresh' })
      return result.outcome === 'installed' ? Buffer.from(result.body ?? []).toString('utf8') : undefined
    },
  ],
  [
    'node',
    async (held, text, by, now) => {
      const stored = CompactCrl.read(toUtf8(writeJson(held)))
      const next = stored?.withDelta(toUtf8(text))
      if (stored === undefined || next === undefined || !(await next.isSignedBy([by.signer.publicKey])))
        return undefined
      if (!checkListAdvance(stored.position, next.position, now).ok) return undefined
      return fromUtf8(joinBytes(next.pieces))
    },
  ],
  [
    'library',
    async (held, text, by, now) => {
      const offered = scannedList({ body: toUtf8(writeJson(held)) } as Parameters<typeof scannedList>[0])
      const party = await RelyingParty.open({
        network: 'agency',
        anchors: { [by.keyId]: by.signer.publicKey },
        crl: offered,
      })
      const next = offeredWithDelta(offered, toUtf8(text))
      if (next === undefined || next === 'same' || !(await party.install(next, now)).valid) return undefined
      const { sequence, entriesDigest } = next.position
      const list = genuineBy.get(`${sequence} ${entriesDigest}`)
      return list ?? `a list that was never signed: ${sequence}`
    },
  ],
]

const genuineBy = new Map<string, string>()

function sequenceOf(text: string): number {
  return (JSON.parse(text) as RevocationList).sequence
}

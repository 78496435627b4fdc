import { type JsonObject, readJson, writeJson } from '@chancery/protocol'
import {
  FloatNumber,
  accepted,
  canonicalText,
  foreignAttestation,
  foreignFeed,
  foreignSovereign,
  foreignTreaty,
  startTestAuthority,
  wireText,
} from '@chancery/testkit'
import type { ForeignObject, TestResponse, TestAuthority } from '@chancery/testkit'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { type Random, seededRandom } from '../lib/random.ts'
import { changes, tamperSignatures } from '../lib/tampering.ts'

export const summary = 'every field of attestation, treaty and feed changed, removed, added, retyped: none accepted'
/** About forty changes of every field of the three records. */
export const defaultCount = 20_000

const SHOWN = 10
const AT_ONCE = 16
const partner = foreignSovereign('PARTNER-NET')
const third = foreignSovereign('THIRD-NET')

/** One signed record, and the routes it is sent to. */
interface Target {
  readonly name: string
  readonly record: ForeignObject
  /** Default values of members: leaving out a member with its default is the same record. */
  readonly defaults: ForeignObject
  readonly present: (record: ForeignObject) => Promise<readonly TestResponse[]>
}

export async function run({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
  const na = await startTestAuthority({ backend: 'sqlite' })
  try {
    const random = seededRandom(seed)
    const own = await recognise(na)
    const refusals = new Map<string, number>()
    let cases = 0
    let violations = 0
    for (let round = 0; cases < count; round += 1) {
      for (const target of makeTargets(na, own, random, round)) {
        await requireAccepted(target)
        const ways = [...tamper(target, random)].slice(0, count - cases)
        if (round === 0) log(`${target.name}: ${ways.length} ways to tamper with it`)
        cases += ways.length
        for (let at = 0; at < ways.length; at += AT_ONCE) {
          const answered = await Promise.all(ways.slice(at, at + AT_ONCE).map((way) => askAbout(target, way)))
          for (const { verdict, complaint } of answered.flat()) {
            refusals.set(verdict, (refusals.get(verdict) ?? 0) + 1)
            if (complaint === undefined) continue
            violations += 1
            if (violations <= SHOWN) log(complaint)
          }
        }
      }
    }
    const counts = [...refusals].sort(([, a], [, b]) => b - a).map(([verdict, times]) => `${verdict} ${times}`)
    log(`refused with ${counts.join(', ')}`)
    return { cases, violations }
  } finally {
    await na.stop()
  }
}

/** Sends one tampered record to every route; an accepted record or an internal error is a violation. */
async function askAbout(
  target: Target,
  { what, record }: Tampered,
): Promise<{ verdict: string; complaint: string | undefined }[]> {
  return (await target.present(record)).map((answer) => {
    const verdict = outcomeOf(answer)
    const isGood = verdict !== 'ACCEPTED' && answer.status < 500
    return { verdict, complaint: isGood ? undefined : `${target.name}: ${what}: ${verdict}: ${wireText(record)}` }
  })
}

/** The text of the treaty by which TEST-NET recognises PARTNER-NET. */
async function recognise(na: TestAuthority): Promise<string> {
  const scope = { allowed_roles: ['role:client', 'role:guest'], accepted_statuses: ['active'] }
  const body = { subject_sovereign_id: 'PARTNER-NET', subject_public_keys: [partner.publicKey], scope }
  const answer = await na.as('privileged')('POST', '/admin/recognition-treaties', body)
  accepted(answer, 201)
  return answer.text
}

function outcomeOf({ status, json }: TestResponse): string {
  const {
    accepted: isAccepted,
    reason,
    error,
  } = (json ?? {}) as { accepted?: unknown; reason?: unknown; error?: { code?: unknown } }
  if (status === 200 && isAccepted === true) return 'ACCEPTED'
  return status === 200 ? String(reason) : `${status} ${String(error?.code)}`
}

async function requireAccepted({ name, record, present }: Target): Promise<void> {
  for (const answer of await present(record)) {
    if (outcomeOf(answer) !== 'ACCEPTED')
      throw new Error(`the untouched ${name} is refused: ${answer.text.slice(0, 300)}`)
  }
}

function makeTargets(na: TestAuthority, ownTreaty: string, random: Random, round: number): Target[] {
  const now = na.core.clock.now()
  const claims = {
    limit: new FloatNumber(90),
    whole: 90,
    note: `Zoë ${random.next()}`,
    list: ['a', 1, null, true],
    deep: { '\u{1f600}': 2, '\ue000': 1 },
  }
  const post = (path: string, rawBody: string): Promise<TestResponse> =>
    na.request('POST', path, { rawBody, headers: { 'content-type': 'application/json' } })
  const entry = {
    sovereign_id: 'PARTNER-NET',
    public_keys: [partner.publicKey],
    allowed_roles: ['role:client', 'role:guest'],
  }
  const policy = writeJson({ local_sovereign_id: 'TEST-NET', recognized_issuers: [entry] })
  const member = wireText(foreignAttestation(third, now))
  const keys = writeJson([partner.publicKey])
  return [
    {
      name: 'attestation',
      record: foreignAttestation(partner, now, {
        subject_public_key: third.publicKey,
        roles: ['role:client', 'role:guest'],
        claims,
      }),
      defaults: { subject_public_key: null, roles: [], status: 'active', claims: {} },
      present: async (record) => [
        await post('/attestations/verify', `{"attestation":${wireText(record)},"recognition_policy":${policy}}`),
        await post('/attestations/verify-with-treaty', `{"attestation":${wireText(record)},"treaty":${ownTreaty}}`),
      ],
    },
    {
      name: 'treaty',
      record: foreignTreaty(partner, third, now, {
        subject_public_keys: [third.publicKey, partner.publicKey],
        scope: { allowed_roles: ['role:client'], accepted_statuses: ['active', 'suspended'], claims },
        metadata: claims,
      }),
      defaults: { scope: {}, status: 'active', metadata: {} },
      present: async (record) => [
        await post('/recognition-treaties/verify', `{"treaty":${wireText(record)},"issuer_public_keys":${keys}}`),
        await post('/recognition-treaties/verify', `{"treaty":${wireText(record)}}`),
        await post(
          '/attestations/verify-with-treaty',
          `{"attestation":${member},"treaty":${wireText(record)},"treaty_issuer_public_keys":${keys}}`,
        ),
      ],
    },
    feedTarget(na, round),
  ]
}

/** An accepted feed uses its sequence, so the unchanged feed is imported before with the next sequence. */
function feedTarget(na: TestAuthority, round: number): Target {
  const ids = ['a-1', 'b-ë', 'c-\ue000', 'c-\u{1f600}']
  const reasons = { revocation_reasons: { 'a-1': 'left', 'c-\u{1f600}': 'grüße' } }
  const record = foreignFeed(partner, round * 2 + 2, ids, reasons)
  const untouched = foreignFeed(partner, round * 2 + 1, ids, reasons)
  const send = (feed: ForeignObject): Promise<TestResponse> => {
    const body = { feed: readJson(wireText(feed)) as JsonObject }
    return na.as('privileged')('POST', '/admin/sovereign-revocation-feeds/import', body)
  }
  return {
    name: 'feed',
    record,
    defaults: { revoked_attestation_ids: [], revocation_reasons: {} },
    present: async (feed) => [await send(feed === record ? untouched : feed)],
  }
}

interface Tampered {
  readonly what: string
  readonly record: ForeignObject
}

/** Returns every change of every member, except those that leave the same record or change only a label. */
function* tamper({ record, defaults }: Target, random: Random): Generator<Tampered> {
  const { signatures = [], ...content } = record
  const filled = (value: ForeignObject): string => canonicalText({ ...defaults, ...value })
  const original = filled(content)
  for (const { what, value } of changes(content, random, '')) {
    const changed = value as ForeignObject
    if (filled(changed) !== original) yield { what, record: { ...changed, signatures } }
  }
  for (const { what, value } of tamperSignatures(signatures as readonly ForeignObject[], random)) {
    yield { what, record: value === undefined ? content : { ...content, signatures: value } }
  }
}

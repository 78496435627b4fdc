import { asJson, canonicalJson, chainEntry, decisionSubject, readEventLine, readJson } from '@chancery/protocol'
import type { BoundaryDecision, ContextRecord, JsonObject, JsonValue } from '@chancery/protocol'
import type { EvidencePack } from '@chancery/sdk/authority'
import { verifyPack, readPack, writePack, type PackCheck, type PackTrust } from '@chancery/sdk/evidence'
import { EvidencePackError, sealPack } from '@chancery/sdk/internal'
import { type CampaignOptions, type CampaignResult, tryWays } from '../lib/campaign.ts'
import { type Random, seededRandom } from '../lib/random.ts'
import { alter, leavesOf, type Path, replaceAt } from './forging.ts'
import { PackScenario } from './pack-scenario.ts'

const SCENARIOS = 4
const PER_SCENARIO = 12

interface Whole {
  readonly pack: EvidencePack
  readonly decision: string | null
  readonly text: string
  readonly value: JsonObject
  /** Places of texts and numbers that a check covers without the digest. */
  readonly leaves: readonly Path[]
  readonly trust: PackTrust
  readonly checks: readonly PackCheck[]
}

/** A changed pack: the text as received, or a pack whose writer recomputed the counts and the digest. */
interface Change {
  readonly way: string
  readonly changed: string | EvidencePack
  /** The check that must not pass: the change also leaves out parts, which alone is no attack. */
  readonly mustFail?: PackCheck['name']
}

/** One byte or one record changed, removed, doubled or exchanged, counts and digest recomputed or not. */
export async function run(options: CampaignOptions): Promise<CampaignResult> {
  const random = seededRandom(options.seed)
  const packs = await makePacks(random)
  return tryWays(options, async () => {
    for (;;) {
      const whole = packs[random.below(packs.length)] as Whole
      const other = packs[random.below(packs.length)] as Whole
      // Another pack of the same decision, or nothing of the chosen kind is in this pack.
      const change = other.decision === whole.decision ? undefined : pickChange(whole, other, random)
      if (change === undefined) continue
      const isDetected = await isSeen(whole, change)
      return { way: change.way, problem: isDetected ? undefined : `not detected in ${whole.pack.pack_digest}` }
    }
  })
}

async function makePacks(random: Random): Promise<readonly Whole[]> {
  const packs: Whole[] = []
  for (let at = 0; at < SCENARIOS; at += 1) {
    // Half of the logs have a name that only their identity proves.
    const settings = at % 2 === 0 ? { NA_LOG_ORIGIN: `log-${at}.example/packs` } : undefined
    const scenario = await PackScenario.open(random, settings)
    try {
      for (const { pack, pins, keyHistory } of await scenario.make(PER_SCENARIO)) {
        const trust = { genesis: pins.at(-1), keyHistory }
        const { valid, checks, decision_id: decision } = await verifyPack(pack, trust)
        if (!valid) throw new Error(`a pack is not valid: ${JSON.stringify(checks)}`)
        const text = writePack(pack)
        const value = readJson(text) as JsonObject
        // A part that is not there has no character; parts are added by changePart.
        const leaves = [...leavesOf(value, [])].filter(
          (path) => !isUnsigned(path, value) && !(path.length === 1 && value[path[0] ?? ''] === null),
        )
        packs.push({ pack, decision, text, value, leaves, trust, checks })
      }
    } finally {
      await scenario.close()
    }
  }
  return packs
}

/**
 * Detected: refused, not valid, or a check that passed does not pass any more. A part that was not proven and is missing
 * gives another reason.
 */
async function isSeen({ trust, checks }: Whole, { changed, mustFail }: Change): Promise<boolean> {
  try {
    const pack = readPack(typeof changed === 'string' ? changed : writePack(changed))
    const report = await verifyPack(pack, trust)
    const now = new Map(report.checks.map((each) => [each.name, each]))
    if (mustFail !== undefined) return !report.valid || now.get(mustFail)?.status !== 'passed'
    return (
      !report.valid ||
      checks.some(({ name, status, detail }) => {
        const found = now.get(name)
        if (found?.status === 'passed') return false
        return status === 'passed' || found?.detail !== detail
      })
    )
  } catch (error) {
    if (error instanceof EvidencePackError) return true
    throw error
  }
}

function pickChange(whole: Whole, other: Whole, random: Random): Change | undefined {
  const kind = random.below(10)
  if (kind === 0 && random.chance(30)) return changeContext(whole, random)
  if (kind < 3) return { way: 'byte of the text', changed: changeByte(whole.text, random) }
  if (kind < 6) return changeLeaf(whole, random)
  return changeRecord(whole, other, random)
}

function changeByte(text: string, random: Random): string {
  const at = random.below(text.length)
  const code = (text.charCodeAt(at) + 1 + random.below(126)) % 127
  const other = random.chance(10) ? '' : String.fromCharCode(code)
  const more = random.chance(10) ? (text[at] ?? '') : ''
  const changed = `${text.slice(0, at)}${other}${more}${text.slice(at + 1)}`
  return changed === text ? `${text} ` : changed
}

/** Another request in the entry of the decision, with all digests computed again, and without log and anchor. */
function changeContext({ pack }: Whole, random: Random): Change | undefined {
  const [line = '', ...rest] = pack.entries
  const event = readEventLine(line)
  if (event === undefined || event.entry.entry_kind !== 'decision') return undefined
  const { decision, context } = event.payload as unknown as { decision: BoundaryDecision; context: ContextRecord }
  const forged = { ...context, request_parameters: { amount: random.next() } }
  const { store_sequence, prev_entry_digest, recorded_at } = event.entry
  const head = { store_sequence: store_sequence - 1, entry_digest: prev_entry_digest }
  const payload = canonicalJson(asJson({ decision, context: forged }))
  const made = chainEntry(head, decisionSubject({ decision, context: forged }), payload, recorded_at)
  const way = `request exchanged, ${decision.policy_binding === undefined ? 'without' : 'with'} policies`
  const changed = sealPack({ ...pack, entries: [made.line, ...rest], log: null, anchor: null })
  return { way, changed, mustFail: 'context' }
}

/** One character of one text, or one number, of the records; the writer recomputes counts and digest. */
function changeLeaf({ value, leaves }: Whole, random: Random): Change | undefined {
  const path = leaves[random.below(leaves.length)]
  if (path === undefined) return undefined
  const changed = replaceAt(value, path, (leaf) => alter(leaf, random))
  return reseal(`character in ${path.filter((each) => typeof each === 'string').join('.')}`, changed)
}

/** Labels of signatures by the root key and by partners are not signed, and select nothing (protocol/core 1.6). */
function isUnsigned(path: Path, pack: JsonObject): boolean {
  const [part] = path
  if (part === 'contents' || part === 'pack_digest' || part === 'format' || part === 'version') return true
  if (path.at(-1) === 'key_id' && path.includes('signatures')) {
    if (part === 'genesis' || part === 'key_history' || part === 'agreement') return true
    const { attestation, genesis } = pack as { readonly attestation: JsonObject | null; readonly genesis: JsonObject }
    return part === 'attestation' && attestation?.['issuer_sovereign_id'] !== genesis['network_name']
  }
  // An agreement is named by its id; only its seven agreed members are signed (protocol/trust-operations 3.4).
  return part === 'agreement' && (path[1] === 'established_at' || path[1] === 'signatures')
}

const LISTS = ['entries', 'policies', 'policy_texts', 'executor_keys'] as const
const PARTS = ['key_history', 'attestation', 'agreement', 'treaty', 'anchor', 'log', 'genesis'] as const

/** One record removed, doubled or exchanged with another history's; the writer recomputes counts and digest or not. */
function changeRecord(whole: Whole, other: Whole, random: Random): Change | undefined {
  const { pack } = whole
  const isResealed = random.chance(50)
  const kind = random.below(10)
  const done =
    kind === 0
      ? changeIdentity(pack, other.pack, random)
      : kind < 5
        ? changeList(pack, other.pack, random, isResealed)
        : changePart(pack, other.pack, random)
  if (done === undefined) return undefined
  const { way, changed } = done
  if (writePack({ ...changed, contents: pack.contents, pack_digest: pack.pack_digest }) === whole.text) return undefined
  return isResealed ? { way: `${way}, resealed`, changed: sealPack(changed) } : { way, changed }
}

interface RecordChange {
  readonly way: string
  readonly changed: EvidencePack
}

function changeList(
  pack: EvidencePack,
  other: EvidencePack,
  random: Random,
  isResealed: boolean,
): RecordChange | undefined {
  const name = random.pick(LISTS)
  const list = pack[name] as readonly unknown[]
  const at = random.below(list.length)
  const put = (way: string, items: readonly unknown[]): RecordChange => ({
    way: `${name} ${way}`,
    changed: { ...pack, [name]: items },
  })
  const foreign = (other[name] as readonly unknown[])[random.below(other[name].length)]
  switch (random.below(4)) {
    case 0:
      if (foreign === undefined) return undefined
      return list.length === 0 ? put('added', [foreign]) : put('exchanged', list.with(at, foreign))
    case 1:
      return list.length === 0 ? undefined : put('doubled', list.toSpliced(at, 0, list[at]))
    case 2:
      return list.length < 2 ? undefined : put('reversed', list.toReversed())
    default:
      if (list.length === 0) return undefined
      // Without the last execution, the pack is that of an earlier time: «not proven» says so.
      if (name === 'entries' && isResealed && at === list.length - 1 && pack.contents.executions > 0) return undefined
      return put('removed', list.toSpliced(at, 1))
  }
}

function changePart(pack: EvidencePack, other: EvidencePack, random: Random): RecordChange | undefined {
  const name = random.pick(PARTS)
  const isRemoved = name !== 'genesis' && random.chance(50)
  if (isRemoved && pack[name] === null) return undefined
  if (isRemoved) return { way: `${name} removed`, changed: { ...pack, [name]: null } }
  if (other[name] === null) return undefined
  // Another treaty with the same partner names the same key: for an agreement it proves the same.
  const isSame =
    name === 'treaty' &&
    pack.agreement !== null &&
    pack.treaty?.['subject_sovereign_id'] === other.treaty?.['subject_sovereign_id']
  if (isSame) return undefined
  return { way: `${name} exchanged`, changed: { ...pack, [name]: other[name] } }
}

/** The identity of the log removed, or exchanged with that of another authority. */
function changeIdentity({ log, ...pack }: EvidencePack, other: EvidencePack, random: Random): RecordChange | undefined {
  if (log === null) return undefined
  const { identity: own, ...rest } = log
  if (random.chance(50))
    return own === undefined ? undefined : { way: 'log.identity removed', changed: { ...pack, log: rest } }
  const identity = other.log?.identity
  // Every identity that the authority signed proves the same log.
  if (identity === undefined || identity.sovereign_id === pack.genesis.network_name) return undefined
  return {
    way: `log.identity ${own === undefined ? 'added' : 'exchanged'}`,
    changed: { ...pack, log: { ...rest, identity } },
  }
}

function reseal(way: string, value: JsonValue): Change {
  return { way, changed: sealPack(value as unknown as EvidencePack) }
}

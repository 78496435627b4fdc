import {
  AnchorChecker,
  lineShortcuts,
  readEventLine,
  readReceived,
  storeAnchorForm,
  StoreChecker,
} from '@chancery/protocol'
import type { JsonValue, StoreFinding } from '@chancery/protocol'
import { type Backend, startTestAuthority } from '@chancery/testkit'
import { type CampaignOptions, type CampaignResult, tryWays } from '../lib/campaign.ts'
import { type Random, seededRandom } from '../lib/random.ts'
import { editLine, forgeFrom, nextAnchored } from './forging.ts'
import { TamperedTables } from './rows.ts'
import { decisionOf, EvidenceScenario, objectOf, servedHere } from './scenario.ts'

/** A valid export, and the inputs of an auditor. */
interface Audit {
  readonly lines: readonly string[]
  check(lines: readonly string[]): Promise<readonly StoreFinding[]>
}

/** One way to tamper: the changed lines, and the positions where an error may be reported for it. */
interface Tampered {
  readonly way: string
  readonly lines: readonly string[]
  readonly places: readonly number[]
}

/** Exports and stored rows edited, cut, reordered and recomputed from a position on: detected at the right position. */
export async function run(options: CampaignOptions): Promise<CampaignResult> {
  const [onFile, onServer] = [await prepare('sqlite'), await prepare('postgres')]
  try {
    const random = seededRandom(options.seed)
    return await tryWays(options, async (index) => {
      const { audit, tables } = index % 2 === 0 ? onFile : onServer
      // Half of the cases change the export, half the stored rows.
      const { way, places, findings } = index % 4 < 2 ? await tryExport(audit, random) : await tables.tryOne(random)
      const [first] = findings
      if (first !== undefined && places.includes(first.store_sequence ?? 0)) return { way, problem: undefined }
      const found = first === undefined ? 'nothing' : `${first.reason} at ${first.store_sequence}`
      return { way, problem: `at ${places.join(' or ')}, found ${found}` }
    })
  } finally {
    for (const store of [onFile, onServer]) await store.stop()
  }
}

async function tryExport(audit: Audit, random: Random) {
  const { way, lines, places } = tamper(audit.lines, random)
  return { way, places, findings: await audit.check(lines) }
}

/** A store, its export, and its tables. */
interface Prepared {
  readonly audit: Audit
  readonly tables: TamperedTables
  stop(): Promise<void>
}

/** Fifteen entries of all kinds but checkpoints, anchored at three positions, including the last one. */
async function prepare(backend: Backend): Promise<Prepared> {
  const settings = { EVIDENCE_STORE: 'on', NA_ANCHOR_INTERVAL_SECONDS: '0' }
  const na = await startTestAuthority({ backend, settings })
  try {
    const operator = na.as('privileged')
    const scenario = await EvidenceScenario.open(servedHere(na))
    for (let round = 0; round < 5; round += 1) {
      await scenario.execute(decisionOf(await scenario.decide()))
      if (round % 2 === 0) await scenario.anchor()
    }
    const lines = (await operator('GET', '/admin/evidence/export')).text.split('\n').slice(0, -1)
    const page = objectOf(await operator('GET', '/admin/evidence/anchors'))['anchors'] as readonly JsonValue[]
    const anchors = page.map((anchor) => readReceived(storeAnchorForm, anchor).record)
    const authority = [na.genesis.network_authority.public_key]
    const { keyId, publicKey } = scenario.executorKey
    const key = { public_key: publicKey, executor_sovereign_id: 'rotator' }
    const keys = { authority, executor: (id: string) => (id === keyId ? key : undefined) }
    const check = async (shown: readonly string[]): Promise<readonly StoreFinding[]> => {
      const checker = new StoreChecker({
        keys,
        scope: 'store',
        shortcuts: lineShortcuts,
        anchors: await AnchorChecker.open(anchors, authority, na.genesis.network_name),
      })
      for (const line of shown) await checker.add(line)
      return (await checker.finish()).failures
    }
    const unchanged = await check(lines)
    if (lines.length !== 15 || unchanged.length > 0)
      throw new Error(`the export is not sound: ${JSON.stringify(unchanged)}`)
    const tables = await TamperedTables.open(na, lines)
    return { audit: { lines, check }, tables, stop: () => na.stop() }
  } catch (error) {
    await na.stop()
    throw error
  }
}

function tamper(lines: readonly string[], random: Random): Tampered {
  const at = random.below(lines.length)
  switch (random.below(8)) {
    case 0:
      return removed(lines, at)
    case 1:
      return exchanged(lines, at, random)
    case 2:
      return cut(lines, at)
    case 3:
      return { way: 'repeat', lines: lines.toSpliced(at, 0, lines[at] ?? ''), places: [at + 1] }
    case 4:
      return { way: 'recompute', lines: forgeFrom(lines, at), places: [at + 1] }
    default:
      return edited(lines, at, random)
  }
}

/** The error is reported at the line itself, or at the position it now has. */
function edited(lines: readonly string[], at: number, random: Random): Tampered {
  const changed = editLine(lines[at] ?? '', random)
  const claimed = readEventLine(changed)?.entry.store_sequence
  const places = [at + 1, ...(claimed === undefined ? [] : [claimed])]
  return { way: 'edit', lines: lines.with(at, changed), places }
}

/** A gap is detected at the next entry; a missing end only with an anchor. */
function removed(lines: readonly string[], at: number): Tampered {
  return { way: 'remove', lines: lines.toSpliced(at, 1), places: [at === lines.length - 1 ? at + 1 : at + 2] }
}

function exchanged(lines: readonly string[], at: number, random: Random): Tampered {
  const other = (at + 1 + random.below(lines.length - 1)) % lines.length
  const [first, second] = [Math.min(at, other), Math.max(at, other)]
  const shown = lines.with(first, lines[second] ?? '').with(second, lines[first] ?? '')
  // A run may begin directly after an anchor. Then the line after its first one does not fit.
  return { way: 'exchange', lines: shown, places: first === 0 ? [second + 1, second === 1 ? 1 : 2] : [second + 1] }
}

/** Everything after a position is missing, so the first anchor after it has no entry. */
function cut(lines: readonly string[], at: number): Tampered {
  return { way: 'cut', lines: lines.slice(0, at), places: [nextAnchored(at)] }
}

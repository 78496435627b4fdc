import {
  readSubject,
  readTrustHistoryPage,
  signList,
  SUBJECT_KINDS,
  writeInstant,
  writeTrustHistoryPage,
} from '@chancery/protocol'
import type { GenesisBlock, JsonObject, TrustHistoryPage, TrustSubject } from '@chancery/protocol'
import { verifyPast, type PackTrust } from '@chancery/sdk/evidence'
import { readHistoryLine } from '@chancery/sdk/internal'
import { accepted, FIRST_KEY, testSigner } from '@chancery/testkit'
import type { World } from './actions.ts'
import { edgesOf, type ModelRecord, type ModelState, type ModelView, stateAt } from './model.ts'

/** Asks about the past, and compares each answer with the model. */
export class Questions {
  readonly #world: World
  readonly #log: (line: string) => void
  readonly counts = new Map<string, number>()
  asked = 0
  violations = 0

  constructor(world: World, log: (line: string) => void) {
    this.#world = world
    this.#log = log
  }

  /** Of the authority, whose answer is verified here. */
  async askAuthority(phase: string, record: ModelRecord, view: ModelView): Promise<void> {
    const { authority, random } = this.#world
    const { given, at, subject } = this.#question(record, view, authority.clock.now())
    const issuer = subject.given?.issuer
    const query = new URLSearchParams({
      id: subject.id,
      kind: subject.kind,
      at: writeInstant(at),
      ...(issuer === undefined ? {} : { issuer_sovereign_id: issuer }),
    })
    const answer = accepted(await authority.operate('GET', `/admin/history/trusted?${query.toString()}`))
    const page = readTrustHistoryPage(answer['page'] ?? null)
    const expected = stateAt(view, record, given, at)
    const { state, reason } = await verifyPast(subject, [page], { at, trust: this.#trust() })
    this.#compare({ phase, record, given, at, expected, found: state, reason })
    if (!given) this.#compare({ phase: `${phase}, said`, record, given, at, expected, found: answer['state'], reason })
    if (expected === 'trusted' || !random.chance(10)) return
    // Who changes the statement does not gain trust, also with a former key of the authority.
    const signed = await this.#signed(forge(page))
    for (const changed of [forge(page), signed, { ...page, lists: [], feeds: [] }, cut(page)]) {
      if (changed === undefined) continue
      await this.#neverTrusted(`${phase}, forged`, [changed], {
        record,
        given,
        at,
        subject,
        expected,
        isStolen: changed === signed,
      })
    }
  }

  /** A thief of a former key signs the changed statement. In the period of that key a note must say so. */
  async #signed(page: TrustHistoryPage): Promise<TrustHistoryPage | undefined> {
    const { authority } = this.#world
    if (authority.blocks.length < 2) return undefined
    const signer = await testSigner(FIRST_KEY.keyId, FIRST_KEY.seed)
    const history = await signList({ ...page.history, issued_by: signer.keyId, signatures: [] }, signer)
    return { ...page, history }
  }

  async #neverTrusted(
    phase: string,
    pages: readonly TrustHistoryPage[],
    asked: {
      readonly record: ModelRecord
      readonly given: boolean
      readonly at: bigint
      readonly subject: TrustSubject
      readonly expected: ModelState
      readonly isStolen?: boolean
    },
  ): Promise<void> {
    const { record, given, at, subject, expected, isStolen = false } = asked
    const trust = { genesis: this.#newest(), keyHistory: this.#world.authority.keyHistory }
    const { state, reason, notes } = await verifyPast(subject, pages, { at, trust })
    const isNoted = isStolen && notes.includes('former_key')
    if (state === 'trusted' && !isNoted) this.#compare({ phase, record, given, at, expected, found: state, reason })
    else this.counts.set(phase, (this.counts.get(phase) ?? 0) + 1)
  }

  /** Of an archive, without the authority. */
  async askArchive(phase: string, archive: Archive, record: ModelRecord): Promise<void> {
    const { view, pages } = archive
    const { given, at, subject } = this.#question(record, view, this.#world.authority.clock.now())
    const { state, reason } = await verifyPast(subject, pages, { at, trust: this.#trust() })
    const expected = stateAt(view, record, given, at)
    this.#compare({ phase, record, given, at, expected, found: state, reason })
    const { random } = this.#world
    if (expected === 'trusted' || !random.chance(10)) return
    // A page that is missing does not make a record more trusted.
    const left = pages.filter(() => random.chance(60))
    await this.#neverTrusted(`${phase}, cut`, left, { record, given, at, subject, expected })
  }

  /** Sometimes with the record, and often at a time at which something changes. */
  #question(
    record: ModelRecord,
    view: ModelView,
    now: bigint,
  ): { readonly given: boolean; readonly at: bigint; readonly subject: TrustSubject } {
    const { random, texts } = this.#world
    const kind = record.kind === 'partner' ? 'attestation' : record.kind
    const given = record.kind === 'partner' || random.chance(40)
    const edges = edgesOf(view, record)
    const edge = edges[random.below(edges.length)] ?? record.from
    const life = Number((record.until - record.from) / 1_000_000n)
    const at = random.chance(65)
      ? edge + BigInt(random.below(3) - 1)
      : record.from - 3_600_000_000n + BigInt(random.below(life + 7200)) * 1_000_000n
    const subject = {
      kind,
      id: record.attestedId,
      given: given ? readSubject(kind, texts.get(record.id) ?? null) : undefined,
    }
    return { given, at: at > now ? now : at, subject }
  }

  /** Any genesis block of the network; the newest one with its key history. */
  #trust(): PackTrust {
    const { authority, random } = this.#world
    const { blocks, keyHistory } = authority
    const newest = this.#newest()
    const [oldest = newest] = blocks
    return random.chance(70) || this.isOld ? { genesis: newest, keyHistory } : { genesis: oldest }
  }

  #newest(): GenesisBlock {
    const newest = this.#world.authority.blocks.at(-1)
    if (newest === undefined) throw new Error('there is no genesis block')
    return newest
  }

  /** The file may be from before the newest block: then a reader needs the newest block and its history. */
  isOld = false

  #compare(facts: {
    readonly phase: string
    readonly record: ModelRecord
    readonly given: boolean
    readonly at: bigint
    readonly expected: ModelState
    readonly found: unknown
    readonly reason: string
  }): void {
    const { phase, record, given, at, expected, found, reason } = facts
    this.asked += 1
    const name = `${phase} ${expected}`
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1)
    if (found === expected) return
    this.violations += 1
    const how = given ? 'with the record' : 'by id'
    this.#log(
      `violation: ${phase}: ${record.kind} ${record.id} ${how} at ${writeInstant(at)}: ${String(found)} (${reason}), expected ${expected}`,
    )
  }
}

/** A statement that says that nothing was revoked. */
function forge(page: TrustHistoryPage): TrustHistoryPage {
  const standings = page.history.standings.map((each) => ({
    ...each,
    known: true,
    is_revoked: false,
    revoked_at: null,
    superseded_at: null,
  }))
  return { ...page, lists: [], feeds: [], history: { ...page.history, gaps: [], standings } }
}

/** Without the records of the statement. */
function cut(page: TrustHistoryPage): TrustHistoryPage {
  return { ...page, certificates: [], attestations: [], treaties: [] }
}

export interface Archive {
  /** Read from the lines of a file. */
  readonly pages: readonly TrustHistoryPage[]
  readonly view: ModelView
}

/** Writes an archive as the command does. */
export async function writeArchive({ authority, model }: World): Promise<Archive> {
  const view = model.view(authority.clock.now() - authority.unsettled)
  const lines: string[] = []
  for (const kind of SUBJECT_KINDS) {
    let cursor: string | null = null
    do {
      const query = new URLSearchParams({ kind, limit: '200', ...(cursor === null ? {} : { cursor }) })
      const answer: JsonObject = accepted(await authority.operate('GET', `/admin/history/archive?${query.toString()}`))
      lines.push(writeTrustHistoryPage(readTrustHistoryPage(answer['page'] ?? null)).trimEnd())
      cursor = typeof answer['next_cursor'] === 'string' ? answer['next_cursor'] : null
    } while (cursor !== null)
  }
  return { pages: lines.map((line) => readHistoryLine(line)), view }
}

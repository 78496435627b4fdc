import { copyFile, cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  detectRecordKind,
  instantOf,
  readJson,
  verifyRecordOfKind,
  writeJson,
  writePrivateKeyFile,
} from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { testSeed } from '@chancery/testkit'
import { chancery, tryCommand } from '../lib/command.ts'
import type { SignedKey } from './root-key.ts'

const OPERATOR = 'op-privileged'
const PUBLISHED = ['/crl', '/policy', '/sovereign-revocation-feed']
const COMMANDS_AT_ONCE = 2

interface AuditorParts {
  readonly url: string
  readonly folder: string
}

interface AuditEvent {
  readonly sequence: number
  readonly event_id: string
  readonly event_type: string
}

/**
 * An auditor who has the first block and follows its root. The auditor stores all published records and exports
 * evidence and audit events repeatedly. All of it must verify with the newest block and its history.
 */
export class Auditor {
  readonly found: string[] = []
  readonly #parts: AuditorParts
  readonly #kept: JsonObject[] = []
  readonly #exports: string[] = []
  readonly #events: AuditEvent[] = []

  private constructor(parts: AuditorParts) {
    this.#parts = parts
  }

  static async open(parts: AuditorParts, genesisFile: string): Promise<Auditor> {
    const { folder, url } = parts
    await mkdir(join(folder, 'anchors'), { recursive: true })
    await copyFile(genesisFile, join(folder, 'genesis.json'))
    await writeFile(join(folder, 'operator.key'), writePrivateKeyFile(testSeed(OPERATOR), OPERATOR), { mode: 0o600 })
    const auditor = new Auditor(parts)
    await auditor.#configure('chancery.toml', 'genesis.json', url)
    const keys = await chancery({}, 'evidence', 'key', 'list', '--home', folder, '--json')
    await writeFile(join(folder, 'executors.json'), keys)
    return auditor
  }

  get facts(): { readonly records: number; readonly exports: number; readonly audit_events: number } {
    return { records: this.#kept.length, exports: this.#exports.length, audit_events: this.#events.length }
  }

  /** Stores the records that are published now, and those that others received. */
  async collect(records: readonly JsonObject[], anchor: JsonObject): Promise<void> {
    for (const path of PUBLISHED) {
      const answer = await fetch(`${this.#parts.url}${path}`)
      this.#kept.push(readJson(await answer.text()) as JsonObject)
    }
    this.#kept.push(...records)
    const name = `${(anchor['anchor_sequence'] as number).toString().padStart(6, '0')}.json`
    await writeFile(join(this.#parts.folder, 'anchors', name), writeJson(anchor))
  }

  /** Follows the root, exports evidence and audit events, verifies both, and checks the log like a witness. */
  async audit(settings: Readonly<Record<string, string>>): Promise<void> {
    const { folder, url } = this.#parts
    await this.#try('genesis', 'fetch', '--genesis', join(folder, 'genesis.json'), '--url', url)
    const file = join(folder, `evidence-${this.#exports.length}.jsonl`)
    const config = ['--home', folder]
    // Anchors of this moment, because a later anchor covers more than the export.
    await cp(join(folder, 'anchors'), `${file}.anchors`, { recursive: true })
    if (await this.#try('evidence', 'export', '--out', file, ...config)) {
      this.#exports.push(file)
      await this.#try('verify', file, ...this.#trustOptions(file), ...config)
    }
    await this.#try('evidence', 'witness', '--state', join(folder, 'witness.json'), ...config)
    await this.#exportEvents(settings)
  }

  /** Verifies everything again, with the newest block and history as files. */
  async finish(newest: SignedKey, expected: Readonly<Record<string, number>>): Promise<void> {
    const { folder, url } = this.#parts
    await this.#verifyRecords(newest)
    const history = ['--key-history', newest.historyFile ?? '']
    const config = ['--url', url, '--operator-key', join(folder, 'operator.key')]
    const left = this.#exports.map((file) => ['verify', file, ...this.#trustOptions(file), ...config, ...history])
    for (const [index, record] of this.#kept.entries()) {
      if (index % 16 !== 1) continue
      const file = join(folder, `record-${index}.json`)
      await writeFile(file, writeJson(record))
      left.push(['verify', file, '--genesis', newest.genesisFile, ...history])
    }
    const verifySome = async (): Promise<void> => {
      for (let words = left.shift(); words !== undefined; words = left.shift()) await this.#try(...words)
    }
    await Promise.all(Array.from({ length: COMMANDS_AT_ONCE }, verifySome))
    this.#checkEvents(expected)
  }

  #trustOptions(file: string): readonly string[] {
    return ['--executor-keys', join(this.#parts.folder, 'executors.json'), '--anchors', `${file}.anchors`]
  }

  /** Verifies with the library, at the time each record was issued. */
  async #verifyRecords({ genesisFile, historyFile = '' }: SignedKey): Promise<void> {
    const [genesis, history] = await Promise.all(
      [genesisFile, historyFile].map(async (file) => readJson(await readFile(file, 'utf8'))),
    )
    for (const record of this.#kept) {
      const kind = detectRecordKind(record)
      const dates = [record['issued_at'], record['decision_made_at']]
      const date = dates.find((each) => typeof each === 'string')
      const trust = { keys: [], validatorKeys: new Map<string, string>(), genesis, history }
      const given = trust as unknown as Parameters<typeof verifyRecordOfKind>[2]
      const now = date === undefined ? given.now : instantOf(date) + 1_000_000n
      const verdict =
        kind === undefined ? undefined : await verifyRecordOfKind(kind, record, { ...given, ...(now ? { now } : {}) })
      if (verdict?.ok === true) continue
      const why = verdict === undefined ? 'it is not recognised' : verdict.reason
      this.found.push(`${kind ?? JSON.stringify(record).slice(0, 120)} of ${date} does not verify: ${why}`)
    }
  }

  /** Continues where the last export ended. A cursor stays valid over successions. */
  async #exportEvents(settings: Readonly<Record<string, string>>): Promise<void> {
    const last = this.#events.at(-1)
    const after = last === undefined ? [] : ['--after', `${last.sequence}:${last.event_id}`]
    const file = join(this.#parts.folder, `audit-${this.#events.length}.jsonl`)
    if (!(await this.#tryWith(settings, 'authority', 'audit', '--out', file, ...after))) return
    const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '')
    this.#events.push(...lines.map((line) => JSON.parse(line) as AuditEvent))
  }

  /** Checks that no sequence is missing or repeated, and that each succession has its events. */
  #checkEvents(expected: Readonly<Record<string, number>>): void {
    const ids = new Set(this.#events.map(({ event_id }) => event_id))
    if (ids.size !== this.#events.length) this.found.push('an audit event was exported twice')
    for (const [index, { sequence }] of this.#events.entries())
      if (sequence !== index + 1) {
        this.found.push(`audit event ${sequence} is in place ${index + 1}`)
        break
      }
    for (const [type, count] of Object.entries(expected)) {
      const audited = this.#events.filter(({ event_type }) => event_type === type).length
      if (audited !== count) this.found.push(`${audited} events ${type} are in the audit log, ${count} expected`)
    }
  }

  async #configure(name: string, genesis: string, url: string): Promise<void> {
    const config = [
      `[network]\nna_endpoint = "${url}"`,
      `[paths]\ngenesis = "${genesis}"\noperator_private_key = "operator.key"`,
      `[operator]\nkey_id = "${OPERATOR}"`,
    ]
    await writeFile(join(this.#parts.folder, name), `${config.join('\n')}\n`)
  }

  #try(...words: readonly string[]): Promise<boolean> {
    return this.#tryWith({}, ...words)
  }

  async #tryWith(settings: Readonly<Record<string, string>>, ...words: readonly string[]): Promise<boolean> {
    const { code, stdout, stderr } = await tryCommand(words, { settings })
    if (code === 0) return true
    this.found.push(`chancery ${words.slice(0, 3).join(' ')}: ${stdout.slice(0, 400)} ${stderr.slice(0, 400)}`)
    return false
  }
}

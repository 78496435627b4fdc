import { join } from 'node:path'
import { type JoinCertificate, member } from '@chancery/protocol'
import type { Decider, Outbox } from '@chancery/sdk'
import { createAuthorityClient, type Client } from '@chancery/sdk/authority'
import { GovernedActionRunner, HeldCalls, askAuthority, runToolCall } from '@chancery/sdk/internal'
import type { Asking, GovernedToolCall, ToolCall, ToolCallOutcome } from '@chancery/sdk/internal'
import { toolCapability } from '@chancery/sdk/mcp'
import { FileOutbox, StoreInUseError } from '@chancery/sdk/nodejs'
import { type NodeConnection, loadCertificate } from '../../connection/node-folder.ts'
import type { CommandContext } from '../../context.ts'
import { explain } from '../../errors/explain.ts'
import type { GuardRules } from './rules.ts'
import { readdir } from 'node:fs/promises'
import { CommandError } from '../../errors/failure.ts'

/** Sessions of one server at the same time, each with its own outbox. */
const MOST_SLOTS = 64

export interface Slot {
  readonly name: string
  readonly outbox: FileOutbox
}

/** Opens the first outbox that no other process uses. It may have records of a session that was killed. */
async function openFreeSlot(folder: string): Promise<Slot> {
  for (let slot = 1; slot <= MOST_SLOTS; slot += 1) {
    const name = String(slot)
    const outbox = await openSlot(join(folder, name))
    if (outbox !== undefined) return { name, outbox }
  }
  const message = `${MOST_SLOTS} guards of this server are running.`
  throw new CommandError({ code: 'too_many_guards', message, hint: 'Stop one of them.' })
}

/** Calls `finish` with every other outbox that no process uses and that has records. */
async function finishAbandoned(
  folder: string,
  own: string,
  finish: (outbox: FileOutbox) => Promise<void>,
): Promise<void> {
  const names = (await readdir(folder)).filter((name) => /^\d{1,2}$/.test(name) && name !== own)
  for (const name of names) {
    const files = await readdir(join(folder, name))
    if (!files.some((file) => file.endsWith('.json'))) continue
    const outbox = await openSlot(join(folder, name))
    if (outbox === undefined) continue
    try {
      await finish(outbox)
    } finally {
      await outbox.close()
    }
  }
}

async function openSlot(folder: string): Promise<FileOutbox | undefined> {
  try {
    return await FileOutbox.open(folder)
  } catch (error) {
    if (error instanceof StoreInUseError) return undefined
    throw error
  }
}

interface GateParts {
  readonly context: CommandContext
  readonly connection: NodeConnection
  readonly rules: GuardRules
  readonly server: string
  /** Folder of this server below the home of the node. */
  readonly folder: string
}

const FLUSH_EVERY_MS = 2000
const CLOSE_MS = 1500

/** Asks for decisions with the key of the node, and leaves evidence of every allowed call. */
export class Gate {
  readonly #parts: GateParts
  readonly #client: Client
  readonly #granted: ReadonlySet<unknown>
  readonly #refused = new Set<string>()
  /** Calls that wait for a person, so that the model can call again with the same arguments. */
  readonly #held = new HeldCalls()
  #certificate: JoinCertificate
  #opened: Promise<{ readonly runner: GovernedActionRunner; readonly outbox: FileOutbox }> | undefined

  private constructor(parts: GateParts, certificate: JoinCertificate) {
    const { connection, context, rules } = parts
    const { signer, followed, url } = connection
    this.#parts = parts
    this.#certificate = certificate
    // A model waits for the response, so a failing authority must be reported within seconds.
    const node = { signer, audience: () => followed.audience }
    const limits = { timeoutMs: 5000, budgetMs: 10_000, retry: { attempts: 3 } }
    this.#client = createAuthorityClient({ url, clock: context.now, node, ...limits })
    const capabilities = member(rules.attestation.claims, 'capabilities')
    this.#granted = new Set(Array.isArray(capabilities) ? (capabilities as readonly unknown[]) : [])
  }

  /** Reads files only: a client may start a guard just to find out which protocol version it has. */
  static async prepare(parts: GateParts): Promise<Gate> {
    return new Gate(parts, await loadCertificate(parts.connection.files))
  }

  /** Whether the attestation names the tool. The decision about a call is made by the authority. */
  isGranted(tool: string): boolean {
    return this.#granted.has(toolCapability(this.#parts.server, tool))
  }

  /** Opens the outbox, and completes in the background what earlier sessions left. */
  begin(): void {
    void this.#open().catch((error: unknown) => this.#report(error))
  }

  async run<Value>(call: ToolCall, run: GovernedToolCall<Value>['run']): Promise<ToolCallOutcome<Value>> {
    const { connection, rules } = this.#parts
    const { runner } = await this.#open()
    // Another process may have renewed it.
    this.#certificate = await loadCertificate(connection.files)
    const outcome = await runToolCall(
      { runner, decisions: this.#decisions(), held: this.#held },
      { call, basis: { attestation: rules.attestation }, run },
    )
    void this.#reportRefused(runner)
    return outcome
  }

  /** Submits records for a short time. The next guard of this server submits the others. */
  async close(): Promise<void> {
    if (this.#opened === undefined) return
    const opened = await this.#opened.catch(() => undefined)
    if (opened === undefined) return
    const { runner, outbox } = opened
    const timeout = new Promise<void>((resolve) => setTimeout(resolve, CLOSE_MS))
    await Promise.race([runner.flush({ force: true }).then(() => runner.stop()), timeout])
    await this.#reportRefused(runner)
    try {
      await outbox.close()
    } catch {
      // A call is still running. The lock ends with the process, and the next guard records the call as interrupted.
    }
  }

  #open(): Promise<{ readonly runner: GovernedActionRunner; readonly outbox: FileOutbox }> {
    this.#opened ??= this.#openSlot().catch((error: unknown) => {
      this.#opened = undefined
      throw error
    })
    return this.#opened
  }

  async #openSlot(): Promise<{ readonly runner: GovernedActionRunner; readonly outbox: FileOutbox }> {
    const folder = join(this.#parts.folder, 'outbox')
    const { name, outbox } = await openFreeSlot(folder)
    const runner = await this.#runnerOf(outbox)
    this.#reportUnreadable(join(folder, name), outbox)
    void this.#reportRefused(runner)
    runner.start(FLUSH_EVERY_MS)
    void finishAbandoned(folder, name, async (abandoned) => {
      const other = await this.#runnerOf(abandoned)
      await other.flush({ force: true })
      this.#reportUnreadable(folder, abandoned)
      await this.#reportRefused(other)
    }).catch((error: unknown) => this.#report(error))
    return { runner, outbox }
  }

  #decisions(): Decider {
    const { context, connection } = this.#parts
    const { followed, signer } = connection
    const asking: Asking = {
      request: this.#client.boundary.request,
      publicKey: signer.publicKey,
      network: followed.keys.genesis.network_name,
      certificate: () => Promise.resolve(this.#certificate),
      keys: () => followed.keys,
      now: context.now,
      attestation: undefined,
    }
    return { ask: (capability, options = {}) => askAuthority(asking, capability, options) }
  }

  #runnerOf(outbox: Outbox): Promise<GovernedActionRunner> {
    const { context, rules } = this.#parts
    return GovernedActionRunner.open({
      client: this.#client,
      executor: rules.executor,
      outbox,
      clock: context.now,
      onError: (error) => this.#report(error),
    })
  }

  #reportUnreadable(folder: string, { unreadable }: FileOutbox): void {
    if (unreadable.length > 0)
      this.#parts.context.note(`evidence cannot be read: ${unreadable.join(', ')} below ${folder}`)
  }

  /** Reports records that the authority refuses permanently, each of them once. */
  async #reportRefused(runner: GovernedActionRunner): Promise<void> {
    const entries = await runner.pending().catch(() => [])
    for (const entry of entries) {
      if (entry.state !== 'dead_letter' || this.#refused.has(entry.record.evidence_id)) continue
      this.#refused.add(entry.record.evidence_id)
      this.#parts.context.note(`evidence was refused: ${entry.record.evidence_id} (${entry.code ?? 'no code'})`)
    }
  }

  #report(error: unknown): void {
    this.#parts.context.note(`evidence waits: ${explain(error).message}`)
  }
}

import { type JsonObject, type StoreFinding, type StoreReport, visible } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import { plural } from '../../output/screen.ts'
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { AuditKeys } from './audit-keys.ts'
import type { ExaminedLines } from './audit-thread.ts'

/** Small heaps, because a thread stores only one block of lines at a time. */
const LIMITS = { maxYoungGenerationSizeMb: 8, maxOldGenerationSizeMb: 512 }

interface Waiting {
  resolve(examined: ExaminedLines): void
  reject(error: Error): void
}

interface Thread {
  readonly worker: Worker
  readonly waiting: Waiting[]
}

/**
 * Up to one thread for each core. Blocks are assigned in turn, and results keep their order. A thread starts with its
 * first block, because most exports have one block only.
 */
export class AuditThreads {
  readonly size: number = availableParallelism()
  readonly #keys: AuditKeys
  readonly #threads: Thread[] = []
  #given = 0

  constructor(keys: AuditKeys) {
    this.#keys = keys
  }

  examine(bytes: Uint8Array<ArrayBuffer>): Promise<ExaminedLines> {
    const { worker, waiting } = (this.#threads[this.#given % this.size] ??= startThread(this.#keys))
    this.#given += 1
    return new Promise((resolve, reject) => {
      waiting.push({ resolve, reject })
      worker.postMessage(bytes, [bytes.buffer])
    })
  }

  async close(): Promise<void> {
    await Promise.all(this.#threads.map(({ worker }) => worker.terminate()))
  }
}

function startThread(keys: AuditKeys): Thread {
  const from = import.meta.url
  const file = new URL(`audit-thread.${from.endsWith('.ts') ? 'ts' : 'js'}`, from)
  const worker = new Worker(file, { workerData: keys, env: {}, resourceLimits: LIMITS })
  const waiting: Waiting[] = []
  const fail = (error: Error): void => {
    for (const each of waiting.splice(0)) each.reject(error)
  }
  worker.on('message', (text: string) => waiting.shift()?.resolve(JSON.parse(text) as ExaminedLines))
  worker.on('error', (error) => fail(error instanceof Error ? error : new Error('a thread failed')))
  worker.on('exit', () => fail(new Error('a thread ended')))
  return { worker, waiting }
}

/**
 * Without executor keys, execution signatures cannot be verified. By protocol/trust-operations 6.9 they would count as
 * invalid, which would be a false alarm if no keys were given.
 */
export function setAside(report: StoreReport): { readonly verified: StoreReport; readonly unjudged: number } {
  const isOfExecutor = ({ reason, detail }: StoreFinding): boolean =>
    reason === 'invalid_signature' && detail === 'execution'
  const failures = report.failures.filter((finding) => !isOfExecutor(finding))
  return { verified: { ...report, failures }, unjudged: report.failures.length - failures.length }
}

export function missingKeysText(
  { style }: CommandContext,
  unjudged: number,
  { failures, checked_entries }: StoreReport,
): string {
  const rest =
    failures.length === 0 ? ` Everything else in its ${plural(checked_entries, 'entry', 'entries')} is sound.` : ''
  return (
    `${style.bad('Not verified in full:')} the executor keys are missing, so ${unjudged} ` +
    `${unjudged === 1 ? 'execution was' : 'executions were'} not verified.${rest}\n` +
    `Give the executor keys with --with, a file made by: chancery evidence key list --json`
  )
}

export function describeStore({ style }: CommandContext, file: string, report: StoreReport): string {
  const { checked_entries, decisions, executions, rejections, failures } = report
  const refused = rejections === 0 ? '' : `, ${rejections} rejections`
  const counted = `${plural(checked_entries, 'entry', 'entries')}, ${plural(decisions, 'decision')}, ${plural(executions, 'execution')}${refused}`
  const [first] = failures
  if (first === undefined) return `${style.good('Verified:')} ${visible(file)} contains ${counted}; all are valid.`
  // The same name with another key: every line would fail, and none would say why.
  const unsigned = failures.filter(({ reason, detail }) => reason === 'invalid_signature' && detail === 'decision')
  if (decisions > 0 && unsigned.length === decisions)
    return `${style.bad('Not valid:')} no decision in ${visible(file)} is signed by a key of the given network. It is of another network, or a former key is missing (--key-history).\n${counted}, ${failures.length} failures.`
  const place = first.store_sequence === null ? 'the checkpoint' : `entry ${first.store_sequence}`
  const shown = failures
    .slice(0, 20)
    .map(({ store_sequence, reason, detail }) => `  ${store_sequence ?? '-'}  ${reason}  ${visible(detail)}`)
  const rest = failures.length > 20 ? `\n  … ${failures.length - 20} more` : ''
  return `${style.bad('Not valid:')} the first problem is at ${place} (${first.reason}).\n${counted}, ${failures.length} failures:\n${shown.join('\n')}${rest}`
}

/** What a report without failures does not prove. With anchors: up to the last one. */
export function unprovenOf({ failures }: StoreReport, anchors: JsonObject): readonly 'later_entries'[] {
  const { anchored_through_sequence: through, unanchored_entries: open } = anchors
  return failures.length === 0 && (through === null || open !== 0) ? ['later_entries'] : []
}

/** Lines for people about {@link unprovenOf}, and about fields that no signature covers. */
export function remarksText({ style }: CommandContext, report: StoreReport, anchors: JsonObject): readonly string[] {
  const { anchored_through_sequence: through } = anchors
  const end =
    typeof through === 'number'
      ? `that the store has these entries after ${through}, and no other ones. No given anchor is later.`
      : 'that the store has no other or later entries. Give anchors that were saved elsewhere: --with <folder>.'
  return [
    ...(unprovenOf(report, anchors).length === 0 ? [] : [`${style.warn('Not proven:')} ${end}`]),
    ...(report.warnings.length === 0
      ? []
      : [`${style.warn('Not signed:')} ${plural(report.warnings.length, 'field')} of the entries: see --json.`]),
  ]
}

import { resolve } from 'node:path'
import {
  asJson,
  canonicalJson,
  fromHex,
  hashLeaf,
  inclusionProof,
  readEventLine,
  readReceipt,
  toUtf8,
  verifyInclusion,
  verifyReceipt,
  writeTlogProof,
} from '@chancery/protocol'
import type { ReadEvent } from '@chancery/protocol'
import { RefusedError } from '@chancery/sdk'
import type { Arguments, Options } from '../../arguments/options.ts'
import { type Connection, connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError } from '../../errors/failure.ts'
import { FOR_ALL, refuseExisting, typed, writeNewFile } from '../../files/files.ts'
import type { Result } from '../../output/result.ts'
import { type SeenCheckpoint, fetchCheckpoint, findLogTrust, treeOf } from './log-reading.ts'

interface Entry {
  readonly line: string
  readonly event: ReadEvent
  readonly leafHash: Uint8Array
}

/** Runs `evidence receipt`: verifies the receipt before it is written. */
export async function runEvidenceReceipt(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const id = args.required('decision')
  const file = resolve(context.cwd, options.required('out'))
  const lineFile = options.text('line')
  const files = [file, ...(lineFile === undefined ? [] : [resolve(context.cwd, lineFile)])]
  await refuseExisting(files)
  const connection = await connectAsOperator(context, options)
  const entry = await findEntry(connection, id)
  const form = options.textOrDefault('form')
  const { content, facts } =
    form === 'cose' ? await fetchCose(connection, id, entry) : await makeLogProof(connection, entry)
  await writeNewFile(file, content, FOR_ALL)
  if (files[1] !== undefined) await writeNewFile(files[1], `${entry.line}\n`, FOR_ALL)
  const name = typed(context.cwd, file)
  const data = { decision_id: id, form, file: name, entry_digest: entry.event.entryDigest, ...facts }
  const flags = form === 'cose' ? '--line <file> --genesis <file> --log-identity <file>' : '--policy <file>'
  const text = `${context.style.good('Written:')} ${name}, entry ${facts.leaf_index + 1} in a log of ${facts.tree_size}.\nA verifier runs: chancery verify receipt ${name} ${flags}`
  return { data, text, ids: [id] }
}

interface Made {
  readonly content: string | readonly Uint8Array[]
  readonly facts: { readonly origin: string; readonly leaf_index: number; readonly tree_size: number }
}

/** The line of the decision, read again: a digest from the authority proves nothing. */
async function findEntry(connection: Connection, id: string): Promise<Entry> {
  const { entries } = await connection.ask(({ evidence }) => evidence.search({ decision_id: id, limit: 1000 }))
  const sequence = entries.find(({ entry }) => entry.entry_kind === 'decision')?.entry.store_sequence
  const lines = sequence === undefined ? [] : await connection.ask(({ evidence }) => evidence.lines(sequence - 1, 1))
  const [line = ''] = lines
  const event = readEventLine(line)
  const digest = fromHex(event?.entryDigest ?? '')
  if (event === undefined || digest === undefined || event.entry.decision_id !== id)
    throw new CommandError({
      code: 'decision_not_found',
      message: `The evidence store has no decision ${id}.`,
      hint: 'Find decisions with: chancery evidence decisions',
    })
  return { line, event, leafHash: hashLeaf(digest) }
}

/** With the cosigned checkpoint if it covers the entry, otherwise with the last one. */
async function makeLogProof(connection: Connection, { event, leafHash }: Entry): Promise<Made> {
  const index = event.entry.store_sequence - 1
  const cosigned = await fetchCheckpoint(connection, true).catch((error: unknown) => {
    if (error instanceof RefusedError && error.status === 404) return undefined
    throw error
  })
  const log = cosigned !== undefined && cosigned.size > index ? cosigned : await fetchCheckpoint(connection)
  if (index >= log.size) throw notCovered(log.size, index + 1)
  const proof = await connection.ask((client) => inclusionProof(index, log.size, treeOf(client, log.size)))
  if (!verifyInclusion({ index, size: log.size, leafHash, root: log.root, proof })) throw notInLog(index + 1)
  const extra = toUtf8(canonicalJson(asJson(event.entry)))
  const content = writeTlogProof({ extra, index, proof, checkpoint: log.note })
  return { content, facts: factsOf(log, index) }
}

async function fetchCose(connection: Connection, id: string, { event, leafHash }: Entry): Promise<Made> {
  const { origin, keys } = await findLogTrust(connection)
  const bytes = await connection.ask(({ evidenceLog }) => evidenceLog.receipt(id))
  const receipt = readReceipt(bytes)
  const isOurs = receipt?.issuer === origin && receipt.index === event.entry.store_sequence - 1
  if (receipt === undefined || !isOurs) throw notInLog(event.entry.store_sequence)
  for (const key of keys)
    if (await verifyReceipt(receipt, leafHash, key))
      return { content: [bytes], facts: { origin, leaf_index: receipt.index, tree_size: receipt.size } }
  throw notInLog(event.entry.store_sequence)
}

function factsOf({ origin, size }: SeenCheckpoint, leaf_index: number): Made['facts'] {
  return { origin, leaf_index, tree_size: size }
}

function notCovered(size: number, sequence: number): CommandError {
  return new CommandError({
    code: 'not_in_log',
    message: `Entry ${sequence} is not covered yet: the log has ${size}.`,
    hint: 'A checkpoint follows within a second or two. Try again.',
  })
}

function notInLog(sequence: number): CommandError {
  return new CommandError({
    code: 'not_in_log',
    message: `The receipt does not prove entry ${sequence}. Nothing was written.`,
    hint: 'Do not trust this log. Save its checkpoint, and run: chancery evidence verify <export>',
  })
}

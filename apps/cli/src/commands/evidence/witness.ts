import { resolve } from 'node:path'
import {
  consistencyProof,
  cosignNote,
  fromBase64,
  isJsonObject,
  readJson,
  readNote,
  toBase64,
  verifyConsistency,
  writeJson,
  writeNote,
} from '@chancery/protocol'
import { connect } from '../../connection.ts'
import type { Connection } from '../../connection.ts'
import type { CommandContext, Result } from '../../context.ts'
import { Failure } from '../../failure.ts'
import { FOR_ALL, errorCode, readText, replaceFile, writeNewFile } from '../../files.ts'
import { loadSigner } from '../../keys.ts'
import type { Arguments, Options } from '../../options.ts'
import { fetchCheckpoint, treeOf } from './log-reading.ts'
import type { SeenCheckpoint } from './log-reading.ts'

/** What a witness remembers: the largest tree it ever saw signed. */
interface Held {
  readonly origin: string
  readonly size: number
  readonly root: Uint8Array
  readonly note: string
}

/**
 * evidence witness: kept before cosigned, so that a witness that forgets everything after its last word still cannot
 * be shown two histories.
 */
export async function run(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const connection = await connect(context, options)
  const file = resolve(context.cwd, options.required('state'))
  const held = await loadHeld(file)
  const seen = await fetchCheckpoint(connection)
  if (held !== undefined) await requireGrown(connection, file, held, seen)
  await keep(file, held, seen)
  const cosigned = await cosign(context, options, seen)
  const out = options.text('out')
  if (out !== undefined) await replaceFile(resolve(context.cwd, out), cosigned ?? seen.note, FOR_ALL)
  const from = held === undefined ? 'first seen' : `grown from ${held.size}`
  const word = cosigned === undefined ? '' : ' and cosigned'
  return {
    data: {
      origin: seen.origin,
      size: seen.size,
      root: toBase64(seen.root),
      previous_size: held?.size ?? null,
      note: cosigned ?? seen.note,
    },
    text: `${context.style.good('Sound:')} the log of ${seen.origin} has ${seen.size} entries, ${from}. Kept${word}.`,
  }
}

/** Never backwards, and never two histories: either is told loudly, and both notes are kept as proof. */
async function requireGrown(connection: Connection, file: string, held: Held, seen: SeenCheckpoint): Promise<void> {
  if (held.origin !== seen.origin)
    throw new Failure({ code: 'other_log', message: `${file} is about ${held.origin}, not about ${seen.origin}.` })
  const isGrown = seen.size >= held.size && (await isConsistent(connection, held, seen))
  if (isGrown) return
  const proof = `${file}.fork-${seen.size}`
  await writeNewFile(proof, `${held.note}\n${seen.note}`, FOR_ALL).catch((error: unknown) => {
    // The same contradiction was kept at an earlier run.
    if (!(error instanceof Failure) || error.code !== 'file_exists') throw error
  })
  throw new Failure({
    code: 'history_rewritten',
    message: `THE LOG WAS REWRITTEN: ${connection.url} signed ${held.size} entries before, and now ${seen.size} that do not continue them.`,
    hint: `Both signed checkpoints are in ${proof}. Show them to everybody who relies on this authority. Nothing was cosigned.`,
  })
}

async function isConsistent(connection: Connection, held: Held, seen: SeenCheckpoint): Promise<boolean> {
  const proof = await connection.ask((client) => consistencyProof(held.size, seen.size, treeOf(client, seen.size)))
  return verifyConsistency({ older: held.size, newer: seen.size, olderRoot: held.root, newerRoot: seen.root, proof })
}

async function loadHeld(file: string): Promise<Held | undefined> {
  const text = await readText(file).catch((error: unknown) => {
    if (error instanceof Failure && errorCode(error.cause) === 'ENOENT') return undefined
    throw error
  })
  if (text === undefined) return undefined
  const value = readJson(text)
  const { origin, size, root, note } = isJsonObject(value) ? value : {}
  const bytes = typeof root === 'string' ? fromBase64(root) : undefined
  const isWhole = typeof origin === 'string' && typeof size === 'number' && typeof note === 'string'
  // A state that cannot be read must not become a fresh start: that is what a forger would wish for.
  if (!isWhole || bytes?.length !== 32)
    throw new Failure({ code: 'invalid_state', message: `${file} is not the state of a witness.`, hint: 'Restore it.' })
  return { origin, size, root: bytes, note }
}

async function keep(file: string, held: Held | undefined, { origin, size, root, note }: SeenCheckpoint): Promise<void> {
  const text = `${writeJson({ origin, size, root: toBase64(root), note })}\n`
  await (held === undefined ? writeNewFile : replaceFile)(file, text, FOR_ALL)
}

async function cosign(context: CommandContext, options: Options, seen: SeenCheckpoint): Promise<string | undefined> {
  const file = options.text('key')
  const note = readNote(seen.note)
  if (file === undefined || note === undefined) return undefined
  const witness = await loadSigner(context, file, (noted) => options.text('name') ?? noted)
  return writeNote(await cosignNote(note, witness, Number(context.now() / 1_000_000n)))
}

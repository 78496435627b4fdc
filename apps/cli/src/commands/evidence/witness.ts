import { resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import {
  JsonError,
  consistencyProof,
  cosignNote,
  fromBase64,
  isJsonObject,
  readCheckpointText,
  readJson,
  readNote,
  toBase64,
  toHex,
  verifyConsistency,
  writeJson,
  writeNote,
  writeWitnessKey,
} from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { type Connection, connect } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { type Result, plural } from '../../output/screen.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { FOR_ALL, errorCode, readText, replaceFile, writeNewFile } from '../../files/files.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { type SeenCheckpoint, fetchCheckpoint, treeOf } from './witnesses.ts'
import { listen, loadWitness } from './witness-listen.ts'

/** Stored state of a witness: the largest signed tree. */
interface Cached {
  readonly origin: string
  readonly size: number
  readonly root: Uint8Array
  readonly note: string
}

/**
 * Runs `evidence witness`: stores the tree before it cosigns it, so that a crash cannot lead to cosignatures of two
 * histories.
 */
export async function runEvidenceWitness(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const address = options.text('listen')
  if (address !== undefined) return listen(context, options, address)
  if (options.isSet('logs')) throw usageError('--logs needs --listen.')
  const connection = await connect(context, options)
  const file = resolve(context.cwd, options.required('state'))
  const { stored, seen, cosigned, verifierKey } = await withLock(file, () => follow(context, options, connection, file))
  const out = options.text('out')
  if (out !== undefined) await replaceFile(resolve(context.cwd, out), cosigned ?? seen.note, FOR_ALL)
  const from = stored === undefined ? 'first seen' : `grown from ${stored.size}`
  const word = cosigned === undefined ? '' : ' and cosigned'
  return {
    data: {
      origin: seen.origin,
      size: seen.size,
      root: toBase64(seen.root),
      previous_size: stored?.size ?? null,
      note: cosigned ?? seen.note,
      verifier_key: verifierKey ?? null,
    },
    text: `${context.style.good('Valid:')} the log of ${seen.origin} has ${plural(seen.size, 'entry', 'entries')}, ${from}. Saved${word}.${verifierKey === undefined ? '' : `\nVerifier key of this witness: ${verifierKey}`}`,
  }
}

interface Followed {
  readonly stored: Cached | undefined
  readonly seen: SeenCheckpoint
  readonly cosigned: string | undefined
  readonly verifierKey: string | undefined
}

async function follow(
  context: CommandContext,
  options: Options,
  connection: Connection,
  file: string,
): Promise<Followed> {
  const stored = await loadStored(file)
  const isNew = options.isSet('init')
  if (stored === undefined && options.isSet('key') && !isNew)
    throw new CommandError({
      code: 'no_state',
      message: `${file} does not exist: a witness without its state would cosign any history.`,
      hint: 'Check the path. Only for a new witness with a new key, add --init.',
    })
  if (stored !== undefined && isNew)
    throw new CommandError({ code: 'file_exists', message: `${file} exists already.`, hint: 'Run without --init.' })
  const out = options.text('out')
  const noteFile = out === undefined ? undefined : resolve(context.cwd, out)
  const noted = noteFile === undefined ? undefined : await loadNote(noteFile)
  const seen = await fetchCheckpoint(connection)
  if (stored !== undefined) await requireGrown(connection, file, stored, seen)
  // The last checkpoint that was written there is replaced only by one that continues it.
  if (noteFile !== undefined && noted !== undefined) await requireGrown(connection, noteFile, noted, seen)
  await save(file, stored, seen)
  const made = await cosign(context, options, seen)
  return { stored, seen, cosigned: made?.note, verifierKey: made?.verifierKey }
}

/** One run at a time: two could cosign two histories. The lock ends with the process, also after a crash. */
async function withLock<Value>(file: string, action: () => Promise<Value>): Promise<Value> {
  const lock = openLock(`${file}.lock`)
  try {
    return await action()
  } finally {
    lock.close()
  }
}

function openLock(path: string): DatabaseSync {
  let lock: DatabaseSync | undefined
  try {
    lock = new DatabaseSync(path)
    lock.exec('begin exclusive')
    return lock
  } catch (error) {
    lock?.close()
    throw new CommandError(
      {
        code: 'witness_busy',
        message: `${path} cannot be locked: another run of this witness may be active.`,
        hint: 'Wait until it ends. Check that the folder can be written.',
      },
      { cause: error },
    )
  }
}

/** Refuses a smaller tree and a different history, and saves both checkpoints as proof. */
async function requireGrown(connection: Connection, file: string, stored: Cached, seen: SeenCheckpoint): Promise<void> {
  if (stored.origin !== seen.origin)
    throw new CommandError({
      code: 'other_log',
      message: `${file} is about ${stored.origin}, not about ${seen.origin}.`,
    })
  const isGrown = seen.size >= stored.size && (await isConsistent(connection, stored, seen))
  if (isGrown) return
  const proof = `${file}.fork-${seen.size}-${toHex(seen.root).slice(0, 16)}`
  await writeNewFile(proof, `${stored.note}\n${seen.note}`, FOR_ALL).catch((error: unknown) => {
    // An earlier run saved this contradiction.
    if (!(error instanceof CommandError) || error.code !== 'file_exists') throw error
  })
  throw new CommandError({
    code: 'history_rewritten',
    message: `THE LOG WAS REWRITTEN: ${connection.url} signed ${plural(stored.size, 'entry', 'entries')} before, and now ${seen.size} that do not continue them.`,
    hint: `Both signed checkpoints are in ${proof}. Send both files to every party that relies on this authority. Nothing was cosigned.`,
  })
}

async function isConsistent(connection: Connection, stored: Cached, seen: SeenCheckpoint): Promise<boolean> {
  const proof = await connection.ask((client) => consistencyProof(stored.size, seen.size, treeOf(client, seen.size)))
  return verifyConsistency({
    older: stored.size,
    newer: seen.size,
    olderRoot: stored.root,
    newerRoot: seen.root,
    proof,
  })
}

function readIfThere(file: string): Promise<string | undefined> {
  return readText(file).catch((error: unknown) => {
    if (error instanceof CommandError && errorCode(error.cause) === 'ENOENT') return undefined
    throw error
  })
}

/** The checkpoint in the file of --out. Any other file is left as it is. */
async function loadNote(file: string): Promise<Cached | undefined> {
  const note = await readIfThere(file)
  const checkpoint = note === undefined ? undefined : readCheckpointText(readNote(note)?.text ?? '')
  if (note === undefined) return undefined
  if (checkpoint !== undefined) return { ...checkpoint, note }
  throw new CommandError({
    code: 'file_exists',
    message: `${file} exists already, and is not a checkpoint.`,
    hint: 'Give another --out, or move the file away first.',
  })
}

async function loadStored(file: string): Promise<Cached | undefined> {
  const text = await readIfThere(file)
  if (text === undefined) return undefined
  const { origin, size, root, note } = readObject(text)
  const bytes = typeof root === 'string' ? fromBase64(root) : undefined
  const isWhole = typeof origin === 'string' && typeof size === 'number' && typeof note === 'string'
  // A state that cannot be read is an error. A fresh start would accept a forged history.
  if (!isWhole || bytes?.length !== 32)
    throw new CommandError({
      code: 'invalid_state',
      message: `${file} is not the state of a witness.`,
      hint: 'Restore the file from a backup, or give another one with --state.',
    })
  return { origin, size, root: bytes, note }
}

function readObject(text: string): JsonObject {
  try {
    const value = readJson(text)
    return isJsonObject(value) ? value : {}
  } catch (error) {
    if (error instanceof JsonError) return {}
    throw error
  }
}

async function save(
  file: string,
  stored: Cached | undefined,
  { origin, size, root, note }: SeenCheckpoint,
): Promise<void> {
  const text = `${writeJson({ origin, size, root: toBase64(root), note })}\n`
  await (stored === undefined ? writeNewFile : replaceFile)(file, text, FOR_ALL)
}

async function cosign(
  context: CommandContext,
  options: Options,
  seen: SeenCheckpoint,
): Promise<{ readonly note: string; readonly verifierKey: string } | undefined> {
  const file = options.text('key')
  const note = readNote(seen.note)
  if (file === undefined || note === undefined) return undefined
  const witness = await loadWitness(context, options, file)
  const verifierKey = writeWitnessKey({ name: witness.keyId, publicKey: witness.publicKey })
  return { note: writeNote(await cosignNote(note, witness, Number(context.now() / 1_000_000n))), verifierKey }
}

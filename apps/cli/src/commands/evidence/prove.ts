import { resolve } from 'node:path'
import {
  fromHex,
  hashLeaf,
  inclusionProof,
  readEventLine,
  toBase64,
  verifyInclusion,
  writeJson,
} from '@chancery/protocol'
import { type Connection, connect, connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { FOR_ALL, refuseExisting, typed, writeNewFile } from '../../files/files.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { fetchCheckpoint, treeOf } from './log-reading.ts'
import { plural } from '../../output/plural.ts'

/** Runs `evidence prove`: verifies the proof before it is printed. */
export async function runEvidenceProve(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const sequence = readSequence(args.required('sequence'))
  const out = options.text('out')
  const file = out === undefined ? undefined : resolve(context.cwd, out)
  if (file !== undefined) await refuseExisting([file])
  const given = options.text('digest')
  const connection = await (given === undefined ? connectAsOperator : connect)(context, options)
  const digest = given ?? (await fetchDigest(connection, sequence))
  const leaf = fromHex(digest)
  if (leaf?.length !== 32) throw usageError('A digest is 64 hexadecimal digits.')
  const { note, origin, size, root } = await fetchCheckpoint(connection)
  if (sequence > size)
    throw new CommandError({
      code: 'not_in_log',
      message: `Entry ${sequence} is not covered yet: the log has ${plural(size, 'entry', 'entries')}.`,
      hint: 'A checkpoint follows within a second or two. Try again.',
    })
  const proof = await connection.ask((client) => inclusionProof(sequence - 1, size, treeOf(client, size)))
  const isIn = verifyInclusion({ index: sequence - 1, size, leafHash: hashLeaf(leaf), root, proof })
  if (!isIn)
    throw new CommandError({
      code: 'not_in_log',
      message: `The log does not contain this entry at sequence ${sequence}.`,
      hint: 'Either the digest is another one, or history was rewritten. Run: chancery evidence verify <export>',
    })
  const data = {
    origin,
    store_sequence: sequence,
    entry_digest: digest,
    tree_size: size,
    proof: proof.map(toBase64),
    checkpoint: note,
  }
  if (file !== undefined) await writeNewFile(file, `${writeJson(data)}\n`, FOR_ALL)
  const saved = file === undefined ? '' : ` Written to ${typed(context.cwd, file)}.`
  return {
    data,
    text: `${context.style.good('Proved:')} entry ${sequence} is in the log of ${plural(size, 'entry', 'entries')}.${saved}`,
  }
}

function readSequence(text: string): number {
  if (!/^[1-9]\d{0,15}$/.test(text)) throw usageError('A store sequence is a whole number of at least 1.')
  return Number(text)
}

/** Computes the digest of the entry, because a digest from the authority proves nothing. */
async function fetchDigest(connection: Connection, sequence: number): Promise<string> {
  const [line = ''] = await connection.ask((client) => client.evidence.lines(sequence - 1, 1))
  const event = readEventLine(line)
  if (event?.entry.store_sequence !== sequence)
    throw new CommandError({
      code: 'entry_not_found',
      message: `The store has no entry ${sequence}.`,
      hint: 'After retention, give --digest from a saved export.',
    })
  return event.entryDigest
}

import { resolve } from 'node:path'
import { asJson, nodesFromTiles, openCheckpointByAny, readLogKey, trustLog, writeLogPolicy } from '@chancery/protocol'
import type { LogCheckpoint, LogIdentity, LogTrust, NodeReader } from '@chancery/protocol'
import { RefusedError } from '@chancery/sdk'
import type { Client, LogDescription, LogWitnessState } from '@chancery/sdk/authority'
import type { Arguments, Options } from '../../arguments/options.ts'
import { type Connection, connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { FOR_ALL, typed, writeNewFile } from '../../files/files.ts'
import { type Result, table } from '../../output/screen.ts'

export interface SeenCheckpoint extends LogCheckpoint {
  /** The note as the authority signed it. */
  readonly note: string
}

/** Returns name and keys of the log. Without a pinned key a forged log would be accepted. */
export async function findLogTrust(
  connection: Connection,
  given?: LogIdentity,
): Promise<LogTrust & { readonly identity: LogIdentity | undefined }> {
  const { genesis, followed, url } = connection
  if (genesis === undefined)
    throw usageError('The authority is not pinned.', 'Give a configuration with paths.genesis.')
  const identity = given ?? (await fetchIdentity(connection))
  const trust = await trustLog(followed?.keys ?? { genesis }, identity)
  if (trust === undefined)
    throw new CommandError({
      code: 'invalid_checkpoint',
      message: `${url} gives a name of its log that the authority did not sign.`,
      hint: 'Do not trust this log. Compare the genesis block.',
    })
  return { ...trust, identity }
}

/** Earlier releases have no identity of the log: its name follows from the network. */
async function fetchIdentity(connection: Connection): Promise<LogIdentity | undefined> {
  try {
    return (await connection.ask((client) => client.evidenceLog.describe())).log_identity
  } catch (error) {
    if (error instanceof RefusedError && error.status === 404) return undefined
    throw error
  }
}

export async function fetchCheckpoint(connection: Connection, isCosigned = false): Promise<SeenCheckpoint> {
  const { origin, keys } = await findLogTrust(connection)
  const note = await connection.ask(({ evidenceLog }) =>
    isCosigned ? evidenceLog.cosigned() : evidenceLog.checkpoint(),
  )
  const opened = await openCheckpointByAny(note, origin, keys)
  if (opened === undefined)
    throw new CommandError({
      code: 'invalid_checkpoint',
      message: `${connection.url} gives a checkpoint that ${origin} did not sign.`,
      hint: 'Do not trust this log. Save the checkpoint and compare the genesis block.',
    })
  return { ...opened, note }
}

/** Reads the tree of a checkpoint from public tiles. Tiles count only if they match the signed root. */
export function treeOf(client: Client, size: number): NodeReader {
  return nodesFromTiles(size, (name) => client.evidenceLog.tile(name))
}

/** Runs `evidence witnesses`: exit code 1 when a witness contradicts the log. */
export async function runEvidenceWitnesses(
  context: CommandContext,
  _args: Arguments,
  options: Options,
): Promise<Result> {
  const connection = await connectAsOperator(context, options)
  const log = await describeLog(connection)
  await requireSignedKeys(connection, log)
  const state = await connection.ask((client) => client.evidenceLog.witnesses())
  const out = options.text('out')
  const file = out === undefined ? undefined : resolve(context.cwd, out)
  if (file !== undefined)
    await writeNewFile(file, writeLogPolicy(log.verifier_keys, log.witnesses, log.quorum), FOR_ALL)
  const alarms = state.witnesses.filter(({ alarm }) => alarm !== null)
  const { style } = context
  const lines = [
    `Log ${log.origin}: ${state.tree_size} entries. Cosigned: ${state.cosigned_size} entries by ${state.cosigners} of ${state.witnesses.length}; quorum ${state.quorum}.`,
    ...log.verifier_keys.map((key) => `Key of the log: ${key}`),
    ...(state.pending_since === null ? [] : [style.warn(`Without the quorum since ${state.pending_since}.`)]),
    ...(state.witnesses.length === 0 ? [] : [table(HEAD, state.witnesses.map(toRow), style)]),
    ...alarms.map(({ name, alarm, alarm_size }) =>
      style.bad(
        alarm === 'rolled_back'
          ? `THE LOG WAS ROLLED BACK: ${name} has ${alarm_size ?? 0} entries, this authority ${state.tree_size}.`
          : `THE LOG WAS REWRITTEN: ${name} has other entries up to ${alarm_size ?? 0}.`,
      ),
    ),
    ...(file === undefined
      ? []
      : [
          `Policy for verifiers: ${typed(context.cwd, file)}`,
          'The authority signs the keys of its log, not its witnesses: compare each with the one you were given.',
          ...log.witnesses.map((key) => `Witness in the policy: ${key}`),
        ]),
  ]
  return {
    data: { ...asJson(state), origin: log.origin, verifier_keys: [...log.verifier_keys] },
    text: lines.join('\n'),
    ids: state.witnesses.map(({ name }) => name),
    exitCode: alarms.length === 0 ? 0 : 1,
  }
}

/** An authority describes its log from the first checkpoint on. */
async function describeLog(connection: Connection): Promise<LogDescription> {
  try {
    return await connection.ask((client) => client.evidenceLog.describe())
  } catch (error) {
    if (!(error instanceof RefusedError) || error.status !== 404) throw error
    throw new CommandError({
      code: 'no_checkpoint',
      message: `The evidence log of ${connection.url} has no checkpoint yet.`,
      hint: 'Start the authority with EVIDENCE_STORE=on. It signs the first checkpoint within a minute; then try again.',
    })
  }
}

/** Verifiers will trust the keys of the policy: each must be one that the authority signed for its log. */
async function requireSignedKeys(connection: Connection, log: LogDescription): Promise<void> {
  const { origin, keys } = await findLogTrust(connection, log.log_identity)
  const isSigned = (text: string): boolean => {
    const key = readLogKey(text)
    return key !== undefined && key.name === origin && keys.includes(key.publicKey)
  }
  if (log.verifier_keys.length > 0 && log.verifier_keys.every(isSigned)) return
  throw new CommandError({
    code: 'invalid_checkpoint',
    message: `${connection.url} gives a key of its log that the authority did not sign.`,
    hint: 'Do not trust this log. Compare the genesis block.',
  })
}

const HEAD = ['WITNESS', 'SIZE', 'COSIGNED', 'TRIED', 'STATE']

function toRow({
  name,
  known_size,
  cosigned_at,
  tried_at,
  failure,
  alarm,
  proven,
}: LogWitnessState): readonly string[] {
  const trouble = alarm === null ? failure : `${alarm}${proven ? ', proven' : ''}`
  return [
    name,
    String(known_size),
    cosigned_at ?? '-',
    tried_at ?? '-',
    trouble ?? (cosigned_at === null ? 'no cosignature yet' : 'ok'),
  ]
}

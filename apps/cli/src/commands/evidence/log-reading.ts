import { nodesFromTiles, openCheckpointByAny, trustLog } from '@chancery/protocol'
import type { LogCheckpoint, LogIdentity, LogTrust, NodeReader } from '@chancery/protocol'
import { type Client, RefusedError } from '@chancery/sdk'
import type { Connection } from '../../connection/connection.ts'
import { CommandError, usageError } from '../../errors/failure.ts'

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
    isCosigned ? evidenceLog.cosignedCheckpoint() : evidenceLog.checkpoint(),
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

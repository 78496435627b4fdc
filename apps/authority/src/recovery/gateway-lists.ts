import { closeSync, openSync, readSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { PublishedListError } from './published-lists.ts'

const SQLITE_HEAD = 'SQLite format 3\0'
/** The application id in the header of a gateway's state file: "CHGW". */
const GATEWAY_STATE = 0x43484757
const APPLICATION_ID_AT = 68

/**
 * Returns the lists in a copy of a gateway's state, of all its networks. Undefined when the file is not such a copy.
 */
export function readGatewayLists(path: string): readonly string[] | undefined {
  const head = readHead(path)
  if (head === undefined || head.toString('latin1', 0, SQLITE_HEAD.length) !== SQLITE_HEAD) return undefined
  if (head.readUInt32BE(APPLICATION_ID_AT) !== GATEWAY_STATE)
    throw new PublishedListError(`--crl: ${path} is a database, but not the state of a gateway`)
  const file = new DatabaseSync(path, { readOnly: true })
  try {
    return file
      .prepare('select body from checkpoints')
      .all()
      .map((row) => String(row['body']))
  } catch (error) {
    throw new PublishedListError(`--crl: ${path} cannot be read; give what chancery gateway state backup wrote`, {
      cause: error,
    })
  } finally {
    file.close()
  }
}

/** The caller reports a file that cannot be read. */
function readHead(path: string): Buffer | undefined {
  const head = Buffer.alloc(100)
  try {
    const file = openSync(path, 'r')
    try {
      return readSync(file, head, 0, head.length, 0) === head.length ? head : undefined
    } finally {
      closeSync(file)
    }
  } catch {
    return undefined
  }
}

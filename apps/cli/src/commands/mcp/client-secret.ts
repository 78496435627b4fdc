import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { CommandError } from '../../errors/failure.ts'
import { OWNER_ONLY, errorCode, readText, writeNewFile } from '../../files/files.ts'

/** The header in which clients send the secret. Headers of this prefix never go to a server. */
export const CLIENT_SECRET_HEADER = 'Chancery-Client-Secret'

const SECRET = /^[A-Za-z0-9_-]{43,}$/

/** Returns the secret of the clients of a guard, and makes it at the first start. Only the owner of the node can read it. */
export async function loadClientSecret(file: string): Promise<string> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  await writeNewFile(file, `${randomBytes(32).toString('base64url')}\n`, OWNER_ONLY).catch((error: unknown) => {
    if (!(error instanceof CommandError && errorCode(error.cause) === 'EEXIST')) throw error
  })
  const secret = (await readText(file)).trim()
  if (SECRET.test(secret)) return secret
  const message = `${file} does not contain a client secret.`
  throw new CommandError({ code: 'invalid_file', message, hint: 'Delete it: the guard makes a new one at its start.' })
}

/** Compares in a time that does not depend on the sent text. */
export function isSecret(sent: string | readonly string[] | undefined, secret: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  return typeof sent === 'string' && timingSafeEqual(digest(sent), digest(secret))
}

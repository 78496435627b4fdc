import { createHash, randomBytes } from 'node:crypto'
import { TOKEN_BYTES } from '../auth/credentials.ts'
import { type ToolResult, done } from './state-command.ts'

/**
 * `token new`: creates 256 random bits with a prefix and a checksum, so that scanners and people detect a mistyped
 * token.
 */
export function newToken(): ToolResult {
  const head = `gw1_${randomBytes(32).toString('base64url')}`
  const token = `${head}_${createHash('sha256').update(head).digest().subarray(0, 4).toString('base64url')}`
  const token_sha256 = digest(token)
  return done({ token, token_sha256 }, `${token}\n${token_sha256}`)
}

/** `token digest`: prints the digest that the policy stores for a token. */
export function tokenDigest(token: string): ToolResult {
  if (token.length < TOKEN_BYTES.min || token.length > TOKEN_BYTES.max || !/^[!-~]+$/.test(token)) {
    return { data: {}, text: 'A token has 32 to 1024 bytes of visible ASCII.', exitCode: 1 }
  }
  const token_sha256 = digest(token)
  return done({ token_sha256 }, token_sha256)
}

function digest(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

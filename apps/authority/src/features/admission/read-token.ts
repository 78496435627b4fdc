import { JsonError, type JsonObject, isJsonObject, readJsonBytes } from '@chancery/protocol'
import { MAX_TOKEN_CHARACTERS } from './evidence.ts'

/** A compact JWS before its signature is verified. */
export interface ReadToken {
  readonly text: string
  readonly header: JsonObject
  readonly claims: JsonObject
  /** What the signature covers. The signature itself may have several forms. */
  readonly signingInput: string
}

const COMPACT = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.[A-Za-z0-9_-]+$/
const LIMITS = { maxDepth: 8, maxValues: 500, maxNames: 200 }

/** Undefined for every other form. Strict JSON: a repeated claim would have two readings. */
export function readToken(text: string): ReadToken | undefined {
  const [, headerText, claimsText] = (text.length <= MAX_TOKEN_CHARACTERS && COMPACT.exec(text)) || []
  if (headerText === undefined || claimsText === undefined) return undefined
  const [header, claims] = [readPart(headerText), readPart(claimsText)]
  if (header === undefined || claims === undefined) return undefined
  return { text, header, claims, signingInput: `${headerText}.${claimsText}` }
}

function readPart(text: string): JsonObject | undefined {
  const bytes = Buffer.from(text, 'base64url')
  if (bytes.toString('base64url') !== text) return undefined
  try {
    const value = readJsonBytes(bytes, LIMITS)
    return isJsonObject(value) ? value : undefined
  } catch (error) {
    if (error instanceof JsonError) return undefined
    throw error
  }
}

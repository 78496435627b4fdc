import { resolve } from 'node:path'
import {
  FormError,
  JsonError,
  readGenesisBlock,
  readJson,
  readKeyHistory,
  sha256Hex,
  signedBytes,
  verifyGenesisBlock,
  verifyKeyHistory,
} from '@chancery/protocol'
import type { GenesisBlock, KeyHistory } from '@chancery/protocol'
import { CommandError, usageError } from '../errors/failure.ts'
import { readText } from './files.ts'
import { shellWord } from '../output/shell-word.ts'

/** Reads a genesis block from a file and checks its form only. */
export async function loadGenesis(path: string): Promise<GenesisBlock> {
  const text = await readText(path)
  try {
    return readGenesisBlock(readJson(text))
  } catch (error) {
    if (!(error instanceof FormError || error instanceof JsonError)) throw error
    throw new CommandError(
      { code: 'invalid_genesis', message: `${path} is not a genesis block: ${error.message}.` },
      { cause: error },
    )
  }
}

/** Reads a block and verifies all its signatures. Only the keys of such a block may be used. */
export async function loadVerifiedGenesis(path: string): Promise<GenesisBlock> {
  const block = await loadGenesis(path)
  const verdict = await verifyGenesisBlock(block)
  if (verdict.ok) return block
  const hint = `See: chancery verify ${shellWord(path)}`
  throw new CommandError({ code: verdict.reason, message: `${path} does not verify (${verdict.reason}).`, hint })
}

/** Reads a key history that the root of this block signed. */
export async function loadKeyHistory(cwd: string, file: string, genesis: GenesisBlock): Promise<KeyHistory> {
  const path = resolve(cwd, file)
  let history: KeyHistory
  try {
    history = readKeyHistory(readJson(await readText(path)))
  } catch (error) {
    if (!(error instanceof FormError || error instanceof JsonError)) throw error
    throw new CommandError(
      { code: 'invalid_key_history', message: `${path} is not a key history: ${error.message}.` },
      { cause: error },
    )
  }
  const verdict = await verifyKeyHistory(history, genesis)
  if (verdict.ok) return history
  const hint = 'Give the newest genesis block together with its history: the root signs both at every succession.'
  throw new CommandError({
    code: verdict.reason,
    message: `${path} does not belong to the block (${verdict.reason}).`,
    hint,
  })
}

/** Returns the fingerprint that two people compare. It covers everything the root signed, and the root key itself. */
export function genesisFingerprint(block: GenesisBlock): string {
  return `sha256:${sha256Hex(signedBytes(block, 'signatures'))}`
}

/** A pinned genesis block: its fingerprint and the source of the pin. */
export interface Pin {
  readonly fingerprint: string
  readonly source: string
  /** The block, where a file was given: its root may have named another key since. */
  readonly block?: GenesisBlock
}

/** --genesis: a file or a fingerprint. */
export async function readPin(cwd: string, given: string): Promise<Pin> {
  if (!/^sha256:/i.test(given)) return pinOf(resolve(cwd, given))
  if (!/^sha256:[0-9a-f]{64}$/i.test(given))
    throw usageError('A fingerprint reads sha256: and 64 hexadecimal digits.', 'See: chancery verify <file>')
  return { fingerprint: given.toLowerCase(), source: '--genesis' }
}

export async function pinOf(file: string): Promise<Pin> {
  const block = await loadVerifiedGenesis(file)
  return { fingerprint: genesisFingerprint(block), source: file, block }
}

/** Indented for people and version control; the signature covers the canonical form, so the layout is free. */
export function writeGenesisText(block: GenesisBlock): string {
  return `${JSON.stringify(block, undefined, 2)}\n`
}

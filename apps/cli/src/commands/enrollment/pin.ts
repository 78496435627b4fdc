import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { verifyGenesisBlock } from '@chancery/protocol'
import type { GenesisBlock } from '@chancery/protocol'
import type { Config } from '../../config.ts'
import { Failure, misuse } from '../../failure.ts'
import { genesisFingerprint, loadVerifiedGenesis } from '../../genesis-file.ts'

/** A genesis block somebody vouched for, by fingerprint, and where that was said. */
export interface Pin {
  readonly fingerprint: string
  readonly said: string
}

export interface PinSources {
  readonly cwd: string
  /** --genesis: a file or a fingerprint. */
  readonly given: string | undefined
  /** Where an earlier join kept the block. */
  readonly kept: string
  readonly config: Config
}

/** Every place that names the network. All of them must agree with what the authority serves. */
export async function findPins({ cwd, given, kept, config }: PinSources): Promise<readonly Pin[]> {
  const pins: Pin[] = []
  if (given !== undefined && /^sha256:/i.test(given)) {
    if (!/^sha256:[0-9a-f]{64}$/i.test(given))
      throw misuse('A fingerprint reads sha256: and 64 hexadecimal digits.', 'See: chancery genesis verify <file>')
    pins.push({ fingerprint: given.toLowerCase(), said: '--genesis' })
  } else if (given !== undefined) pins.push(await pinOf(resolve(cwd, given)))
  if (await exists(kept)) pins.push(await pinOf(kept))
  const configured = config.paths.genesis
  if (configured !== undefined && configured !== kept) pins.push(await pinOf(configured))
  return pins
}

async function pinOf(file: string): Promise<Pin> {
  return { fingerprint: genesisFingerprint(await loadVerifiedGenesis(file)), said: file }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}

/** Accepts the block an authority serves only when its root signed it and nobody named another one. */
export async function requirePinned(served: GenesisBlock, pins: readonly Pin[], url: string): Promise<void> {
  const verdict = await verifyGenesisBlock(served)
  if (!verdict.ok) {
    throw new Failure({
      code: verdict.reason,
      message: `The genesis block that ${url} serves does not verify (${verdict.reason}).`,
      hint: 'Nothing was sent. Do not use this address; ask an operator for the right one.',
    })
  }
  const fingerprint = genesisFingerprint(served)
  const other = pins.find((pin) => pin.fingerprint !== fingerprint)
  if (other === undefined) return
  throw new Failure({
    code: 'genesis_mismatch',
    message: `${url} is not the authority of the network you named: it serves ${fingerprint}, and ${other.said} says ${other.fingerprint}.`,
    hint: 'The token was not sent. Check --url and --genesis; if both are right, somebody else answers there.',
  })
}

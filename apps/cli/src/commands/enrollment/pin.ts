import { stat } from 'node:fs/promises'
import { verifyGenesisBlock, verifySuccession } from '@chancery/protocol'
import type { GenesisBlock, KeyHistory } from '@chancery/protocol'
import type { Config } from '../../config.ts'
import { Failure } from '../../failure.ts'
import { genesisFingerprint, pinOf, readPin } from '../../genesis-file.ts'
import type { Pin } from '../../genesis-file.ts'

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
  if (given !== undefined) pins.push(await readPin(cwd, given))
  if (await exists(kept)) pins.push(await pinOf(kept))
  const configured = config.paths.genesis
  if (configured !== undefined && configured !== kept) pins.push(await pinOf(configured))
  return pins
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}

/**
 * Accepts the block an authority serves only when its root signed it and nobody named another one. A block that the
 * root of a named one signed later, with a history that names its key, is the same network after a succession.
 */
export async function requirePinned(
  served: GenesisBlock,
  pins: readonly Pin[],
  url: string,
  findHistory: () => Promise<KeyHistory | undefined> = () => Promise.resolve(undefined),
): Promise<void> {
  const verdict = await verifyGenesisBlock(served)
  if (!verdict.ok) {
    throw new Failure({
      code: verdict.reason,
      message: `The genesis block that ${url} serves does not verify (${verdict.reason}).`,
      hint: 'Nothing was sent. Do not use this address; ask an operator for the right one.',
    })
  }
  const fingerprint = genesisFingerprint(served)
  const others = pins.filter((pin) => pin.fingerprint !== fingerprint)
  let other: Pin | undefined
  for (const pin of others) if (!(await isSucceeded(pin, served, findHistory))) other ??= pin
  if (other === undefined) return
  throw new Failure({
    code: 'genesis_mismatch',
    message: `${url} is not the authority of the network you named: it serves ${fingerprint}, and ${other.said} says ${other.fingerprint}.`,
    hint: 'The token was not sent. Check --url and --genesis; if both are right, somebody else answers there.',
  })
}

async function isSucceeded(
  { block }: Pin,
  served: GenesisBlock,
  findHistory: () => Promise<KeyHistory | undefined>,
): Promise<boolean> {
  const history = block === undefined ? undefined : await findHistory()
  if (block === undefined || history === undefined) return false
  return (await verifySuccession({ genesis: block }, { genesis: served, history })).ok
}

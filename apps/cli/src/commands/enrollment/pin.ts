import { stat } from 'node:fs/promises'
import { type GenesisBlock, type KeyHistory, verifyGenesisBlock, verifySuccession } from '@chancery/protocol'
import type { Config } from '../../files/config.ts'
import { CommandError } from '../../errors/failure.ts'
import { type Pin, genesisFingerprint, pinOf, readPin } from '../../files/genesis-file.ts'

export interface PinSources {
  readonly cwd: string
  /** --genesis: a file or a fingerprint. */
  readonly given: string | undefined
  /** Where an earlier join saved the block. */
  readonly saved: string
  readonly config: Config
}

/** Every source that names the network; --genesis stands for the configured one. All must agree with the served block. */
export async function findPins({ cwd, given, saved, config }: PinSources): Promise<readonly Pin[]> {
  const pins: Pin[] = []
  if (given !== undefined) pins.push(await readPin(cwd, given))
  if (await exists(saved)) pins.push(await pinOf(saved))
  const configured = given === undefined ? config.paths.genesis : undefined
  if (configured !== undefined && configured !== saved) pins.push(await pinOf(configured))
  return pins
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}

/**
 * Accepts the block of an authority only when its root signed it and no other block is pinned. A later block of the
 * same root, with a history that contains its key, is the same network after a succession.
 */
export async function requirePinned(
  served: GenesisBlock,
  pins: readonly Pin[],
  url: string,
  findHistory: () => Promise<KeyHistory | undefined> = () => Promise.resolve(undefined),
): Promise<void> {
  const verdict = await verifyGenesisBlock(served)
  if (!verdict.ok) {
    throw new CommandError({
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
  throw new CommandError({
    code: 'genesis_mismatch',
    message: `${url} is not the authority of the pinned network: its genesis block is ${fingerprint}, but ${other.source} is ${other.fingerprint}.`,
    hint: 'The token was not sent. Check --url, --genesis, the block in --home and paths.genesis of the configuration. If all are right, another server answers at this address.',
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

import { resolve } from 'node:path'
import {
  FormError,
  HOUR,
  NO_POLICY_MANIFEST,
  asJson,
  instantOf,
  readKeyHistory,
  signList,
  verifyGenesisBlock,
  verifyKeyHistory,
  writeInstant,
  writeJson,
} from '@chancery/protocol'
import type { FormerKey, GenesisBlock, Instant, KeyHistory, Signer } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/screen.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { FOR_ALL, refuseExisting, typed, writeNewFile } from '../../files/files.ts'
import { loadGenesis, writeGenesisText } from '../../files/genesis-file.ts'
import { loadJsonObject } from '../../files/json-file.ts'
import { loadPublicKey, loadSigner } from '../../files/keys.ts'
import { timeSpan, timeSpanOrDefault } from '../../arguments/time-span.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { describeGenesis, validity } from './genesis.ts'

/** Runs `genesis succeed` with the root key: writes the block of the next key and the key history. */
export async function runGenesisSucceed(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const [out, historyOut] = [resolve(cwd, options.required('out')), resolve(cwd, options.required('out-history'))]
  await refuseExisting([out, historyOut])
  const block = await loadGenesis(resolve(cwd, requireGenesis(options)))
  const root = await loadSigner(context, options.required('root-private-key'), (noted) => noted ?? 'rs-2025-q1')
  await requireRoot(block, root)
  const now = context.now()
  const newKey = await loadPublicKey(cwd, '--authority-key', options.required('authority-key'))
  const window = nextWindow(block, now, timeSpan(options, 'valid-for', { unit: 'd', min: 1, max: 36_500 }))
  const { signatures: _old, ...rest } = block
  const { hash, url } = rest.policy_manifest
  // Earlier releases wrote a text that is no hash. It is not signed again.
  const policy_manifest = { hash: hash === 'sha256:placeholder' ? NO_POLICY_MANIFEST : hash, url }
  const network_authority = { public_key: newKey, ...window }
  const next = await signList({ ...rest, policy_manifest, network_authority, signatures: [] }, root)
  const overlap = BigInt(timeSpanOrDefault(options, 'overlap', { unit: 'h', min: 1, max: 8760 })) * HOUR
  const earlier = options.text('key-history')
  const before = earlier === undefined ? undefined : await loadHistory(cwd, earlier)
  const history = await sealHistory(
    block,
    before,
    { key_id: options.required('former-key-id'), now, overlap, next: next.network_authority },
    root,
  )
  for (const verdict of [await verifyGenesisBlock(next), await verifyKeyHistory(history, next)])
    if (!verdict.ok)
      throw new CommandError({ code: verdict.reason, message: `The result does not verify (${verdict.reason}).` })
  await writeNewFile(out, writeGenesisText(next), FOR_ALL)
  await writeNewFile(historyOut, `${writeJson(asJson(history))}\n`, FOR_ALL)
  const last = history.former_keys.at(-1)
  const text = [
    `${style.good('Signed')} ${typed(cwd, out)} and ${typed(cwd, historyOut)}.`,
    describeGenesis(next, now, style),
    `The present key ${last?.key_id ?? ''} may sign until ${last?.valid_to ?? ''}: switch before.`,
  ].join('\n')
  return { data: { file: out, history_file: historyOut, genesis: next, history }, text }
}

/** The block itself is needed, and no fingerprint. */
export function requireGenesis(options: Options): string {
  const file = options.text('genesis')
  if (file === undefined || /^sha256:/.test(file))
    throw usageError('Give the genesis block that you have: --genesis <file>.')
  return file
}

/** As long as the current window, unless the operator gives another length. */
function nextWindow(
  { network_authority: present }: GenesisBlock,
  now: Instant,
  days: number | undefined,
): { readonly valid_from: string; readonly valid_to: string } {
  if (days !== undefined) return validity(now, days)
  const { valid_from } = validity(now, 1)
  const length = instantOf(present.valid_to) - instantOf(present.valid_from)
  return { valid_from, valid_to: writeInstant(instantOf(valid_from) + length) }
}

async function requireRoot(block: GenesisBlock, root: Signer): Promise<void> {
  const verdict = await verifyGenesisBlock(block)
  if (!verdict.ok)
    throw new CommandError({ code: verdict.reason, message: `The block does not verify (${verdict.reason}).` })
  if (root.publicKey !== block.root_public_key)
    throw new CommandError({ code: 'wrong_root_key', message: 'This private key is not the root key of the block.' })
}

/**
 * The old key is listed from the start of its window to the switch, with time for the overlap. A key that was current
 * before has its first date, and stays listed while it is current again: otherwise its old records could not be
 * verified after the next succession.
 */
async function sealHistory(
  block: GenesisBlock,
  before: KeyHistory | undefined,
  facts: {
    readonly key_id: string
    readonly now: Instant
    readonly overlap: Instant
    readonly next: GenesisBlock['network_authority']
  },
  root: Signer,
): Promise<KeyHistory> {
  const { key_id, now, overlap, next } = facts
  const { public_key, valid_from: start } = block.network_authority
  const listed = before?.former_keys ?? []
  const earlier = listed.find((key) => key.public_key === public_key)?.valid_from ?? start
  const valid_from = instantOf(earlier) < instantOf(start) ? earlier : start
  const last = { key_id, public_key, valid_from, valid_to: writeInstant(now + overlap) }
  // Without an earlier entry it is listed from the start of its new window.
  const isRepeated = (key: FormerKey): boolean =>
    key.public_key === next.public_key && instantOf(key.valid_from) >= instantOf(next.valid_from)
  const draft = {
    network_name: block.network_name,
    root_public_key: block.root_public_key,
    issued_at: writeInstant(now),
    former_keys: [...listed.filter((key) => key.public_key !== public_key && !isRepeated(key)), last],
    signatures: [],
  }
  try {
    return await signList(readKeyHistory(asJson(draft)), root)
  } catch (error) {
    if (error instanceof FormError) throw usageError(`The history cannot be built: ${error.message}.`)
    throw error
  }
}

async function loadHistory(cwd: string, file: string): Promise<KeyHistory> {
  try {
    return readKeyHistory(await loadJsonObject(cwd, file))
  } catch (error) {
    if (error instanceof FormError) throw usageError(`--key-history is not a key history: ${error.message}.`)
    throw error
  }
}

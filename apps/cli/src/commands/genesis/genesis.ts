import { resolve } from 'node:path'
import {
  DAY,
  FormError,
  NO_POLICY_MANIFEST,
  draftGenesisBlock,
  instantOf,
  signList,
  verifyGenesisBlock,
  writeInstant,
} from '@chancery/protocol'
import type { GenesisBlock, GenesisChoices, Instant, Signer } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import { type Result, type Style, fields } from '../../output/screen.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { FOR_ALL, typed, writeNewFile } from '../../files/files.ts'
import { genesisFingerprint, loadGenesis, writeGenesisText } from '../../files/genesis-file.ts'
import { loadPublicKey, loadSigner } from '../../files/keys.ts'
import { timeSpanOrDefault } from '../../arguments/time-span.ts'
import { successOf } from '../authority/host.ts'
import { findSettings } from '../authority/start.ts'
import type { Arguments, Options } from '../../arguments/options.ts'

/** Returns the facts of a block that a person must check before using it. */
export function describeGenesis(block: GenesisBlock, now: Instant, style: Style): string {
  const { network_authority: authority, signatures, bootstrap_anchors: anchors } = block
  return fields(
    [
      ['network', `${block.network_name} ${block.network_version}`],
      ['fingerprint', genesisFingerprint(block)],
      ['root key', block.root_public_key],
      ['authority key', authority.public_key],
      ['valid', `${authority.valid_from} to ${authority.valid_to}${windowText(block, now)}`],
      ['policy', block.policy_manifest.hash === NO_POLICY_MANIFEST ? 'none pinned' : block.policy_manifest.hash],
      ['anchors', anchors.length === 0 ? '-' : anchors.map(({ id, endpoint }) => `${id} (${endpoint})`).join(', ')],
      ['signed by', signatures.length === 0 ? 'not signed' : signatures.map((each) => each.key_id).join(', ')],
    ],
    style,
  )
}

/** Whether the authority may sign now; an authority refuses to start outside this window. */
function windowOf({ network_authority: authority }: GenesisBlock, now: Instant): 'open' | 'not_yet' | 'over' {
  if (now < instantOf(authority.valid_from)) return 'not_yet'
  return now > instantOf(authority.valid_to) ? 'over' : 'open'
}

function windowText(block: GenesisBlock, now: Instant): string {
  const texts = { open: '', not_yet: ' (not yet)', over: ' (over: the authority will not start with it)' } as const
  return texts[windowOf(block, now)]
}

/** Runs `genesis create`: writes an unsigned block for the machine with the root key. */
export async function runGenesisCreate(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const rootKey = await loadPublicKey(cwd, '--root-key', options.required('root-key'))
  const authorityKey = await findAuthorityKey(context, options)
  if (rootKey === authorityKey) {
    throw usageError('The root key and the authority key must differ.', 'The root key signs once and stays offline.')
  }
  const now = context.now()
  const block = draft({
    network_name: options.required('name'),
    network_version: options.textOrDefault('version'),
    root_public_key: rootKey,
    network_authority: {
      public_key: authorityKey,
      ...validity(now, timeSpanOrDefault(options, 'valid-for', { unit: 'd', min: 1, max: 36_500 })),
    },
    policy_manifest: { hash: readPolicyHash(options.text('policy-hash')), url: options.text('policy-url') ?? null },
    bootstrap_anchors: options.list('anchor').map(readAnchor),
  })
  const out = resolve(cwd, options.required('out'))
  await writeNewFile(out, writeGenesisText(block), FOR_ALL)
  const next = `Next, on the machine with the root key: sign ${typed(cwd, out)} with chancery genesis sign`
  const text = `${style.good('Wrote')} an unsigned genesis block to ${typed(cwd, out)}.\n${describeGenesis(block, now, style)}\n\n${next}`
  return { data: { file: out, genesis: block }, text }
}

/** The given key, else that of the authority in the folder, which may be in a hardware token. */
async function findAuthorityKey(context: CommandContext, options: Options): Promise<string> {
  const given = options.text('authority-key')
  if (given !== undefined) return loadPublicKey(context.cwd, '--authority-key', given)
  const settings = await findSettings(context, options)
  const { commands } = await import('@chancery/authority')
  return successOf(await commands.publicKey(settings), {}).publicKey
}

/** Signed with the block, so only a real hash is taken. */
function readPolicyHash(given: string = NO_POLICY_MANIFEST): string {
  if (/^sha256:[0-9a-f]{64}$/.test(given)) return given
  throw usageError('--policy-hash is sha256: and 64 lowercase hexadecimal digits.')
}

function draft(choices: GenesisChoices): GenesisBlock {
  try {
    return draftGenesisBlock(choices)
  } catch (error) {
    if (error instanceof FormError) throw usageError(`The block cannot be built: ${error.message}.`)
    throw error
  }
}

/** The window of the authority key, from the start of the current second on. */
export function validity(now: Instant, days: number): { readonly valid_from: string; readonly valid_to: string } {
  const start = now - (now % 1_000_000n)
  return { valid_from: writeInstant(start), valid_to: writeInstant(start + BigInt(days) * DAY) }
}

function readAnchor(text: string): { readonly id: string; readonly endpoint: string } {
  const cut = text.indexOf('=')
  const [id, endpoint] = [text.slice(0, Math.max(cut, 0)), text.slice(cut + 1)]
  if (id === '' || !/^.+:[0-9]{1,5}$/.test(endpoint)) throw usageError('--anchor must read <id>=<host>:<port>.')
  return { id, endpoint }
}

/** Runs `genesis sign`: adds the signature of the root key and verifies the block before it is written. */
export async function runGenesisSign(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const file = resolve(cwd, args.required('block'))
  const block = await loadGenesis(file)
  const chooseKeyId = (noted: string | undefined): string =>
    options.text('key-id') ?? noted ?? options.textOrDefault('key-id')
  const signer = await loadSigner(context, options.required('root-private-key'), chooseKeyId)
  const signed = await addSignature(block, signer)
  const out = resolve(cwd, options.required('out'))
  await writeNewFile(out, writeGenesisText(signed), FOR_ALL)
  const text = `${style.good('Signed')} ${typed(cwd, out)}.\n${describeGenesis(signed, context.now(), style)}`
  return { data: { file: out, genesis: signed }, text }
}

/** Refuses to write a block that would not verify: readers require every signature to be valid under the root key. */
async function addSignature(block: GenesisBlock, signer: Signer): Promise<GenesisBlock> {
  if (signer.publicKey !== block.root_public_key) {
    const hint = 'The block names another root_public_key. Use its private half, or create the block with this key.'
    throw new CommandError({
      code: 'wrong_root_key',
      message: 'This private key is not the root key of the block.',
      hint,
    })
  }
  if (block.signatures.length > 0) {
    const present = await verifyGenesisBlock(block)
    // The algorithm is deterministic, so signing again gives the same signature.
    if (present.ok) return block
    const hint = 'The block was changed after it was signed. Remove its signatures, check it, then sign.'
    throw new CommandError({
      code: present.reason,
      message: 'A signature that is already in the block does not verify.',
      hint,
    })
  }
  const signed = await signList(block, signer)
  const verdict = await verifyGenesisBlock(signed)
  if (!verdict.ok)
    throw new CommandError({ code: verdict.reason, message: `The signed block does not verify (${verdict.reason}).` })
  return signed
}

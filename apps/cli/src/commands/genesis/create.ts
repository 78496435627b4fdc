import { resolve } from 'node:path'
import { DAY, FormError, NO_POLICY_MANIFEST, draftGenesisBlock, writeInstant } from '@chancery/protocol'
import type { GenesisBlock, GenesisChoices, Instant } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { usageError } from '../../errors/failure.ts'
import { FOR_ALL, typed, writeNewFile } from '../../files/files.ts'
import { writeGenesisText } from '../../files/genesis-file.ts'
import { loadPublicKey } from '../../files/keys.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { describeGenesis } from './describe.ts'

/** Runs `genesis create`: writes an unsigned block for the machine with the root key. */
export async function runGenesisCreate(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const rootKey = await loadPublicKey(cwd, '--root-public-key', options.required('root-public-key'))
  const authorityKey = await loadPublicKey(cwd, '--na-public-key', options.required('na-public-key'))
  if (rootKey === authorityKey) {
    throw usageError('The root key and the authority key must differ.', 'The root key signs once and stays offline.')
  }
  const now = context.now()
  const block = draft({
    network_name: options.required('network'),
    network_version: options.textOrDefault('version'),
    root_public_key: rootKey,
    network_authority: { public_key: authorityKey, ...validity(now, readDays(options.textOrDefault('valid-days'))) },
    policy_manifest: { hash: readPolicyHash(options.text('policy-hash')), url: options.text('policy-url') ?? null },
    bootstrap_anchors: options.list('anchor').map(readAnchor),
  })
  const out = resolve(cwd, options.required('out'))
  await writeNewFile(out, writeGenesisText(block), FOR_ALL)
  const next = `Next: chancery genesis sign --genesis ${typed(cwd, out)} --root-private-key <root.key>`
  const text = `${style.good('Wrote')} an unsigned genesis block to ${typed(cwd, out)}.\n${describeGenesis(block, now, style)}\n\n${next}`
  return { data: { file: out, genesis: block }, text }
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

function readDays(text: string): number {
  const days = /^[1-9][0-9]{0,4}$/.test(text) ? Number(text) : Number.NaN
  if (!(days <= 36_500)) throw usageError('--valid-days must be a whole number from 1 to 36500.')
  return days
}

function readAnchor(text: string): { readonly id: string; readonly endpoint: string } {
  const cut = text.indexOf('=')
  const [id, endpoint] = [text.slice(0, Math.max(cut, 0)), text.slice(cut + 1)]
  if (id === '' || !/^.+:[0-9]{1,5}$/.test(endpoint)) throw usageError('--anchor must read <id>=<host>:<port>.')
  return { id, endpoint }
}

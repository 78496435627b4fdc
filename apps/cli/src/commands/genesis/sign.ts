import { resolve } from 'node:path'
import { type GenesisBlock, type Signer, signList, verifyGenesisBlock } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { CommandError } from '../../errors/failure.ts'
import { FOR_ALL, replaceFile, typed, writeNewFile } from '../../files/files.ts'
import { loadGenesis, writeGenesisText } from '../../files/genesis-file.ts'
import { loadSigner } from '../../files/keys.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { describeGenesis } from './describe.ts'

/** Runs `genesis sign`: adds the signature of the root key and verifies the block before it is written. */
export async function runGenesisSign(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const file = resolve(cwd, options.required('genesis'))
  const block = await loadGenesis(file)
  const chooseKeyId = (noted: string | undefined): string =>
    options.text('key-id') ?? noted ?? options.textOrDefault('key-id')
  const signer = await loadSigner(context, options.required('root-private-key'), chooseKeyId)
  const signed = await addSignature(block, signer)
  const given = options.text('out')
  const out = given === undefined ? file : resolve(cwd, given)
  const write = given === undefined ? replaceFile : writeNewFile
  await write(out, writeGenesisText(signed), FOR_ALL)
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

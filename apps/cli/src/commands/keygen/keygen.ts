import { resolve } from 'node:path'
import type { CommandContext } from '../../context.ts'
import { type Result, fields } from '../../output/screen.ts'
import { typed } from '../../files/files.ts'
import { checkKeyId, makeKeyPair } from '../../files/keys.ts'
import type { Arguments, Options } from '../../arguments/options.ts'

/** Runs `keygen`: creates one key pair for one purpose. */
export async function runKeygen(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const kind = args.required('kind')
  const keyId = options.text('key-id')
  const made = await makeKeyPair({
    base: resolve(context.cwd, options.required('out')),
    keyId: keyId === undefined ? undefined : checkKeyId(keyId),
    force: options.isSet('force'),
  })
  const { style, cwd } = context
  const data = {
    kind,
    key_id: made.keyId ?? null,
    public_key: made.publicKey,
    private_key_file: made.privateFile,
    public_key_file: made.publicFile,
  }
  const rows = fields(
    [
      ['key id', made.keyId ?? '-'],
      ['public key', made.publicKey],
      ['public file', typed(cwd, made.publicFile)],
      ['private file', `${typed(cwd, made.privateFile)} (readable by you only; keep it secret and back it up)`],
    ],
    style,
  )
  return { data, ids: [typed(cwd, made.publicFile)], text: `${style.good('Made')} a key pair (${kind}).\n${rows}` }
}

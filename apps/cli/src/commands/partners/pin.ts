import type { PartnerPin } from '@chancery/sdk'
import type { Options } from '../../arguments/options.ts'
import type { CommandContext } from '../../context.ts'
import { usageError } from '../../errors/failure.ts'
import { loadPublicKey } from '../../files/keys.ts'

/** Reads the keys to pin: the root key, or authority keys. */
export async function readPinOptions({ cwd }: CommandContext, options: Options): Promise<PartnerPin> {
  const [root, keys] = [options.text('root-key'), options.list('authority-key')]
  if ((root === undefined) === (keys.length === 0))
    throw usageError(
      'Give --root-key or --authority-key, not both.',
      'Get the key from the other side, by another way than its address.',
    )
  if (root !== undefined) return { root_public_key: await loadPublicKey(cwd, '--root-key', root) }
  return {
    authority_public_keys: await Promise.all(keys.map((key) => loadPublicKey(cwd, '--authority-key', key))),
  }
}

import { DAY, type GenesisBlock, type Instant, instantOf } from '@chancery/protocol'
import { type Finding, bad, good, warn } from '@chancery/service-kit'

/** Creating, signing and rolling out a new block takes weeks. */
const WINDOW_WARNING = 30n * DAY

/** Checks how long the root key allows the authority key to be used. */
export function checkWindow({ network_authority }: GenesisBlock, now: Instant): Finding {
  const { valid_from, valid_to } = network_authority
  const [from, to] = [instantOf(valid_from), instantOf(valid_to)]
  const fix = 'Replace the key: chancery genesis succeed, then the steps of docs/operate/keys.md#replace-the-key.'
  if (now < from)
    return bad('key-window', `The key window begins ${valid_from}`, 'Check the clock, or wait until then.', {
      effect: 'The authority signs nothing.',
      at: valid_from,
    })
  if (now >= to)
    return bad('key-window', `The key window ended ${valid_to}`, fix, {
      effect: 'The authority signs nothing.',
      at: valid_to,
    })
  if (to - now < WINDOW_WARNING)
    return warn('key-window', `The key window of the genesis block ends ${valid_to}`, fix, {
      effect: 'Then the authority signs nothing.',
      at: valid_to,
    })
  return good('key-window', `until ${valid_to}`)
}

import { it } from 'vitest'
import { followKeysPage } from './keys-page.ts'

// keys-page.nightly.test.ts runs the commands of gateways and partners too.
it(
  'the commands of docs/operate/keys.md for the authority replace its key on SQLite',
  () => followKeysPage('sqlite', 'short'),
  900_000,
)

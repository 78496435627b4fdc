import { it } from 'vitest'
import { followKeysPage } from './keys-page.ts'

// keys-page.nightly.test.ts also undoes the succession, on PostgreSQL.
it(
  'the commands of docs/operate/keys.md replace the authority key on SQLite',
  () => followKeysPage('sqlite', false),
  900_000,
)

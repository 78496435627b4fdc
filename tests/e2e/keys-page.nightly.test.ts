import { it } from 'vitest'
import { followKeysPage } from './keys-page.ts'

it(
  'the commands of docs/operate/keys.md replace the authority key on SQLite',
  () => followKeysPage('sqlite', 'whole'),
  900_000,
)

it(
  'the commands of docs/operate/keys.md replace the authority key on PostgreSQL and undo it',
  () => followKeysPage('postgres', 'undone'),
  900_000,
)

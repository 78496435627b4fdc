import { it } from 'vitest'
import { followKeysPage } from './keys-page.ts'

it(
  'the commands of docs/operate/keys.md replace the authority key on PostgreSQL and undo it',
  () => followKeysPage('postgres', true),
  900_000,
)

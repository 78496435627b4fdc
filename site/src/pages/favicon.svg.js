import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The icon of the console. */
export function GET() {
  const text = readFileSync(join(process.cwd(), '../apps/console/static/favicon.svg'), 'utf8')
  return new Response(text, { headers: { 'content-type': 'image/svg+xml' } })
}

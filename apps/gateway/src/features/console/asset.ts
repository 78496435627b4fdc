import { readFileSync } from 'node:fs'
import { GatewayRefusal } from '@chancery/contract'
import { Answer } from '@chancery/service-kit'
import type { GatewayCall } from '../../edge/call.ts'

/** What `npm run build` makes of the explorer in apps/console; the same folder for sources and for the built gateway. */
const FOLDER = new URL('../../../dist/console/', import.meta.url)

/** The whole list: a path never becomes a file name. */
const CONTENT_TYPES: ReadonlyMap<string, string> = new Map([
  ['explorer.js', 'text/javascript; charset=utf-8'],
  ['styles.css', 'text/css; charset=utf-8'],
  ['logo.svg', 'image/svg+xml'],
  ['favicon.svg', 'image/svg+xml'],
])

const kept = new Map<string, Answer>()

/**
 * GET /assets/{file}
 * The fixed files of the page, read once. One that was not built is missing like any other name.
 */
export function asset({ params }: GatewayCall): Answer {
  const name = params['file'] ?? ''
  const present = kept.get(name)
  if (present !== undefined) return present
  const contentType = CONTENT_TYPES.get(name)
  if (contentType === undefined) throw new GatewayRefusal('route_not_found')
  const answer = new Answer(readBuilt(name), contentType)
  kept.set(name, answer)
  return answer
}

function readBuilt(name: string): Uint8Array {
  try {
    return readFileSync(new URL(name, FOLDER))
  } catch (error) {
    throw new GatewayRefusal('route_not_found', undefined, { cause: error })
  }
}

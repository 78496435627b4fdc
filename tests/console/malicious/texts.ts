import type { Random } from '../../campaigns/lib/random.ts'
import { FRAMES } from '../payloads.ts'

/** Texts that break a layout or change how a reader sees it, when a page shows them as they are. */
const DISTURBERS: readonly ((random: Random) => string)[] = [
  // Words without a place to break, up to more than any field stores.
  (random) => 'W'.repeat(random.pick([24, 60, 64, 100, 128, 200, 255, 256, 1000, 10_000])),
  (random) => 'ẅ̷̢'.repeat(random.pick([8, 16, 40])),
  () => '\u202Egnp.evil\u202C',
  () => '\u2066\u2067\u2068isolated',
  () => 'a\u200Bb\u200C\u200Dc\uFEFFd\u2060e',
  () => 'مرحبا بالعالم שלום עולם',
  () => '👩‍👩‍👧‍👦🏳️‍🌈🇺🇳🧑🏿‍🚀',
  () => '\u001B[31mred\u001B[0m\u001B]0;title\u0007',
  () => 'a\u0000b',
  () => '\r\n\t\u0085\u2028\u2029',
  () => '\uD800 unpaired',
  () => '}</style><style>body{display:none}/*',
  () => 'position:fixed;inset:0;z-index:9999;background:url(https://evil.example/x)',
  () => 'data:text/html,<script>window.ran=1</script>',
  () => '../../../operator/keys?do=revoke',
  () => '__proto__',
  () => '%00%0d%0aSet-Cookie: a=b',
  () => '=HYPERLINK("https://evil.example","x")',
  () => '{{7*7}}${7*7}<%= 7*7 %>#{7*7}',
]

/**
 * Ends with its number, so that no two are equal and a page that shows one can be found. `window.ran` is set when one of
 * them runs.
 */
export function maliciousText(random: Random, number: number): string {
  const frame = FRAMES[random.below(FRAMES.length)]
  const disturber = DISTURBERS[random.below(DISTURBERS.length)]
  const [script, noise] = [frame?.(`window.ran=${number}`) ?? '', disturber?.(random) ?? '']
  const text = random.pick([script, noise, noise + script])
  return `${text}.text-${number}`
}

/** The end of a text, in a page. */
export const END_OF_TEXT = String.raw`\.text-\d+`

/** What a name of few allowed characters leaves of a text, at most 64 of them. */
export function asName(text: string): string {
  const [end = ''] = /\.text-\d+$/.exec(text) ?? []
  const allowed = text.slice(0, -end.length).replaceAll(/[^A-Za-z0-9._:-]/g, '')
  return `x${allowed}`.slice(0, 64 - end.length) + end
}

import type { JSX } from 'preact'
import type { Reached, Impact } from './preview.ts'

const ROW = 26
const SHOWN = 9
const WIDTH = 640
const MIDDLE = WIDTH / 2
const HALF = 92

/** Draws the ending record in the middle, with a line to everything affected. */
export function ImpactDrawing({ impact }: { readonly impact: Impact }): JSX.Element {
  const { sources, ends, lost } = impact
  const rows = Math.max(rowsOf(sources), rowsOf(lost), 1)
  const height = rows * ROW + 24
  const label = `${ends} ends. ${describe(sources)}${describe(lost)}`
  return (
    <figure class="impact" data-impact={lost.count} tabIndex={0}>
      <svg viewBox={`0 0 ${WIDTH} ${height}`} role="img" aria-label={label}>
        <Fan reached={sources} side={-1} height={height} />
        <Fan reached={lost} side={1} height={height} />
        <rect x={MIDDLE - HALF} y={height / 2 - 16} width={HALF * 2} height={32} rx={8} />
        <text class="ends" x={MIDDLE} y={height / 2 + 5}>
          {shorten(ends, 24)}
        </text>
      </svg>
      <figcaption class="legend">
        {sources.count === 0 ? null : <span class="quiet">left: {sources.what}</span>}
        <span class="quiet">{lost.count === 0 ? 'nothing else is affected' : `right: ${lost.what}`}</span>
      </figcaption>
    </figure>
  )
}

function Fan(props: { readonly reached: Reached; readonly side: -1 | 1; readonly height: number }): JSX.Element {
  const { reached, side, height } = props
  const names = reached.names.slice(0, SHOWN)
  const left = reached.count - names.length
  const words = left > 0 ? [...names, `and ${left} more`] : names
  const top = height / 2 - (words.length * ROW) / 2
  return (
    <g>
      {words.map((word, i) => {
        const y = top + (i + 0.5) * ROW
        const [near, far] = [MIDDLE + side * HALF, MIDDLE + side * (HALF + 60)]
        return (
          <g key={word}>
            <path d={`M${near},${height / 2} C${near + side * 30},${height / 2} ${far - side * 30},${y} ${far},${y}`} />
            <circle cx={far} cy={y} r={5} />
            <text x={far + side * 11} y={y + 4} class={side === 1 ? 'after' : 'before'}>
              {shorten(word, 19)}
            </text>
          </g>
        )
      })}
    </g>
  )
}

function rowsOf({ names, count }: Reached): number {
  return Math.min(names.length, SHOWN) + (count > Math.min(names.length, SHOWN) ? 1 : 0)
}

function describe({ what, names, count }: Reached): string {
  return count === 0 ? '' : `${count} ${what}: ${names.slice(0, SHOWN).join(', ')}. `
}

function shorten(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text
}

/** Icons as one path each, in a box of 16 by 16. Plain data: the build also reads it, for the navigation. */

const circle = (x: number, y: number, r: number): string =>
  `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`

export const ICONS = {
  home: 'M2.5 7.2 8 2.8l5.5 4.4v6.3h-11zM6.3 13.5V9.6h3.4v3.9',
  node: `M8 1.8 13.4 5v6L8 14.2 2.6 11V5z${circle(8, 8, 1.7)}`,
  agent: 'M4.8 5h6.4a2 2 0 0 1 2 2v4.2a2 2 0 0 1-2 2H4.8a2 2 0 0 1-2-2V7a2 2 0 0 1 2-2zM8 5V2.4M6 9v.6M10 9v.6',
  partners: `${circle(5.6, 8, 3.6)}${circle(10.4, 8, 3.6)}`,
  policy: 'M3.5 2.2h6.2l2.8 2.8v8.8h-9zM6 7.2h4.2M6 10h4.2',
  decision: 'M8 1.9 14.1 8 8 14.1 1.9 8zM5.8 8.1l1.6 1.5 2.9-3',
  evidence:
    'M6.6 9.4 9.4 6.6M7.3 4.6 8.8 3a2.9 2.9 0 0 1 4.1 4.1l-1.5 1.6M8.7 11.4l-1.5 1.6a2.9 2.9 0 0 1-4.1-4.1l1.5-1.6',
  audit: `M2.5 3.5h11M2.5 8h6M2.5 12.5h4.5${circle(11.4, 10.8, 2.9)}M11.4 9.4v1.5l1 .7`,
  key: `${circle(5.3, 10.7, 2.9)}M7.4 8.6l6-6M11 5l1.8 1.8M9.2 6.8l1.2 1.2`,
  help: `${circle(8, 8, 6.2)}M6.2 6.3a1.9 1.9 0 1 1 2.7 2c-.6.3-.9.6-.9 1.2M8 11.6v.1`,
  lock: 'M4.7 7h6.6a1.5 1.5 0 0 1 1.5 1.5v3.6a1.5 1.5 0 0 1-1.5 1.5H4.7a1.5 1.5 0 0 1-1.5-1.5V8.5A1.5 1.5 0 0 1 4.7 7zM5.3 7V5a2.7 2.7 0 0 1 5.4 0v2',
  search: `${circle(7, 7, 4.4)}M10.4 10.4l3.4 3.4`,
  plus: 'M8 3v10M3 8h10',
  copy: 'M6.9 5.4h5a1.5 1.5 0 0 1 1.5 1.5v5a1.5 1.5 0 0 1-1.5 1.5h-5a1.5 1.5 0 0 1-1.5-1.5v-5a1.5 1.5 0 0 1 1.5-1.5zM10.6 5.2V3.6a1 1 0 0 0-1-1H3.6a1 1 0 0 0-1 1v6a1 1 0 0 0 1 1h1.6',
  close: 'M4 4l8 8M12 4l-8 8',
  left: 'M10 3.5 5.5 8l4.5 4.5',
  right: 'M6 3.5 10.5 8 6 12.5',
  down: 'M3.5 6 8 10.5 12.5 6',
  file: 'M8 2.4v7.2M5.2 6.9 8 9.7l2.8-2.8M2.8 11.4v2.2h10.4v-2.2',
  list: 'M5.4 4h8M5.4 8h8M5.4 12h8M2.6 4h.01M2.6 8h.01M2.6 12h.01',
  tick: 'M3.2 8.4l3.2 3.2 6.4-7',
} as const

export type IconName = keyof typeof ICONS

/** The seal of the operator's key has a dashed ring, so it is drawn in two parts. */
export const SEAL = { solid: `${circle(8, 8, 6.2)}M9.6 6.7a2 2 0 1 0 0 2.6`, dashed: circle(8, 8, 4) } as const

export type Tone = 'good' | 'watch' | 'urgent' | 'bad' | 'ended'
export type ShapeName = 'circle' | 'half' | 'ring' | 'dashed' | 'triangle' | 'square' | 'cross' | 'dash' | 'tick'

/** Shapes of states, in a box of 12 by 12. Each differs without colour. */
export const SHAPES: Readonly<
  Record<ShapeName, { readonly fill?: string; readonly line?: string; readonly width?: number; readonly dash?: true }>
> = {
  circle: { fill: 'M1.8 6a4.2 4.2 0 1 0 8.4 0a4.2 4.2 0 1 0 -8.4 0' },
  half: { fill: 'M6 1.6a4.4 4.4 0 0 1 0 8.8z', line: 'M1.6 6a4.4 4.4 0 1 0 8.8 0a4.4 4.4 0 1 0 -8.8 0', width: 1.4 },
  ring: { line: 'M1.6 6a4.4 4.4 0 1 0 8.8 0a4.4 4.4 0 1 0 -8.8 0', width: 1.6 },
  dashed: { line: 'M1.6 6a4.4 4.4 0 1 0 8.8 0a4.4 4.4 0 1 0 -8.8 0', width: 1.5, dash: true },
  triangle: { fill: 'M6 1.2 11.2 10.6H.8z' },
  square: { fill: 'M2 2h8v8H2z' },
  cross: { line: 'M2.4 2.4l7.2 7.2M9.6 2.4l-7.2 7.2', width: 2 },
  dash: { line: 'M2 6h8', width: 2 },
  tick: { line: 'M1.8 6.4l2.8 2.8 5.6-6', width: 2 },
}

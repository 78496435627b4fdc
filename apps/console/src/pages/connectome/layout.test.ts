import { describe, expect, it } from 'vitest'
import { readColumns } from './graph.ts'
import { firstPositions, openLayout } from './layout.ts'

const STAR = readColumns({
  sovereigns: ['A', 'B', 'C', 'D'],
  lifecycle_states: ['active', 'expiring_soon', 'expired', 'revoked', 'replaced'],
  from: [0, 0, 0, 3],
  to: [1, 2, 3, 0],
  state: [0, 1, 2, 4],
  expiry_risks: ['none', 'low', 'medium', 'high', 'expired'],
  risk: [1, 2, 4, 0],
})
const request = { count: 4, from: STAR.from, to: STAR.to, degree: STAR.degree }

describe('readColumns', () => {
  it('returns tones by lifecycle, degrees by edges and positions by name', () => {
    expect(STAR.tone).toEqual(['good', 'watch', 'bad', 'ended'])
    expect([...STAR.degree]).toEqual([4, 1, 1, 2])
    expect(STAR.placeOf.get('C')).toBe(2)
  })
})

describe('a treaty that ends within a day', () => {
  it('has a separate tone until it ends', () => {
    const { tone } = readColumns({
      sovereigns: ['A', 'B'],
      lifecycle_states: ['expiring_soon', 'revoked'],
      from: [0, 0],
      to: [1, 1],
      state: [0, 1],
      expiry_risks: ['none', 'high'],
      risk: [1, 1],
    })
    expect(tone).toEqual(['urgent', 'ended'])
  })
})

describe('firstPlaces', () => {
  it('puts the best connected in the middle and no two at one position', () => {
    const positions = firstPositions(request)
    expect([positions[0], positions[1]]).toEqual([0, 0])
    const seen = new Set(Array.from({ length: 4 }, (_, i) => `${positions[i * 2]}/${positions[i * 2 + 1]}`))
    expect(seen.size).toBe(4)
  })
})

describe('openLayout', () => {
  it('ends with the same result each time, with a distance between neighbours', () => {
    const run = (): Float32Array => {
      const layout = openLayout(request)
      let steps = 0
      while (layout.step()) steps += 1
      expect(steps).toBeLessThan(500)
      return layout.positions
    }
    const positions = run()
    expect(run()).toEqual(positions)
    const distance = Math.hypot((positions[0] ?? 0) - (positions[2] ?? 0), (positions[1] ?? 0) - (positions[3] ?? 0))
    expect(distance).toBeGreaterThan(40)
    expect(distance).toBeLessThan(300)
  })
})

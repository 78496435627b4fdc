import { type Routes, routes } from '../route.ts'

const facts = {
  swagger: {
    id: 'GET /swagger.json',
    access: 'public',
    limit: 'public',
    stability: 'internal',
    success: 200,
    response: 'json',
    summary: 'OpenAPI description',
    purpose: 'Gives the machine-readable description of every route.',
  },
  surfaces: {
    id: 'GET /surfaces',
    access: 'public',
    limit: 'public',
    stability: 'internal',
    success: 200,
    response: 'json',
    summary: 'Map of surfaces',
    purpose: 'Groups all routes and commands by who may use them.',
  },
  apiPage: {
    id: 'GET /api-reference',
    access: 'public',
    limit: 'public',
    stability: 'internal',
    success: 200,
    response: 'html',
    summary: 'Route reference page',
    purpose: 'Shows every route to a human reader.',
  },
  cliPage: {
    id: 'GET /cli-reference',
    access: 'public',
    limit: 'public',
    stability: 'internal',
    success: 200,
    response: 'html',
    summary: 'Command reference page',
    purpose: 'Shows every command to a human reader.',
  },
} as const

/** The surface describing itself, derived from this table and the command table (protocol/core 22.3, 22.4). */
export const reference: Routes<typeof facts> = routes(facts)

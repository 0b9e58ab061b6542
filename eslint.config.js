import tseslint from 'typescript-eslint'

/** The rules of the house, with the types of the package in `directory`: bench/ has its own packages, and so its own configuration. */
export const rulesOf = (directory) =>
  tseslint.config(
    ...tseslint.configs.strictTypeChecked,
    {
      languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: directory } },
      linterOptions: { reportUnusedDisableDirectives: 'error', noInlineConfig: true },
      rules: {
        '@typescript-eslint/switch-exhaustiveness-check': 'error',
        '@typescript-eslint/consistent-type-imports': 'error',
        '@typescript-eslint/restrict-template-expressions': [
          'error',
          { allowNumber: true, allowBoolean: true },
        ],
        'no-restricted-syntax': [
          'error',
          { selector: 'ExportAllDeclaration', message: 'The public surface is a list of names.' },
          { selector: 'ExportDefaultDeclaration', message: 'Named exports only.' },
        ],
      },
    },
    {
      // Configuration files are what their tool asks for: a default export.
      files: ['eslint.config.js', '**/*.config.ts'],
      rules: { 'no-restricted-syntax': 'off' },
    },
    {
      files: ['**/*.{js,mjs}'],
      extends: [tseslint.configs.disableTypeChecked],
    },
  )

export default tseslint.config(
  {
    ignores: [
      'dist/',
      '**/*.sql.ts',
      'test/adapters/prisma-client/generated/',
      'node_modules/',
      // Linted by `npm run check` of its own, which needs its packages.
      'bench/',
      '.stint/',
    ],
  },
  ...rulesOf(import.meta.dirname),
)
